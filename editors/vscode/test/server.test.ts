// Which server is found, in which order, and what is said where there is none.
import assert from "node:assert/strict";
import { homedir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { MODULE, candidates, executable, find, help, settings, shown } from "../src/server";
import type { Places, Server } from "../src/server";

const BARE: Places = { configured: "", folders: ["/project"], extension: "/extension" };
const VENV = "/project/.venv/bin/python";
const OLD = "/project/venv/bin/python";
const SELECTED = "/opt/conda/bin/python";
const ALL = [VENV, OLD, "/extension/bundled/server.py"];

const ORDER: Record<string, [Partial<Places>, string[], string[]]> = {
  "the PATH, where there is nothing else": [{}, [], ["normlint-server"]],
  "the PATH, where no folder is open": [{ folders: [] }, ["/project"], ["normlint-server"]],
  "the folder's environments before the PATH": [{}, [VENV, OLD], [`${VENV} -m`, `${OLD} -m`, "normlint-server"]],
  "the Python extension's interpreter instead of them": [
    { interpreter: SELECTED },
    [VENV],
    [`${SELECTED} -m`, "normlint-server"],
  ],
  "each folder's environment": [{ folders: ["/a", "/project"] }, [VENV], [`${VENV} -m`, "normlint-server"]],
  "the bundled one last, with the folder's interpreter first": [
    { interpreter: SELECTED },
    ALL,
    [
      `${SELECTED} -m`,
      "normlint-server",
      ...[SELECTED, "python3", "python"].map((python) => `${python} /extension/bundled/server.py`),
    ],
  ],
  "the configured one alone": [{ configured: "/opt/server", interpreter: SELECTED }, ALL, ["/opt/server"]],
  "a configured one in the home directory": [{ configured: "~/bin/server" }, [], [join(homedir(), "bin/server")]],
  "a configured one in the folder": [{ configured: "${workspaceFolder}/env/server" }, [], ["/project/env/server"]],
  "a configured one that is relative to the folder": [{ configured: "env/server" }, [], ["/project/env/server"]],
  "a configured one that is a bare name": [{ configured: "my-server" }, [], ["my-server"]],
};

for (const [name, [places, there, wanted]] of Object.entries(ORDER)) {
  test(`looks for ${name}`, () => {
    const found = candidates({ ...BARE, ...places }, (path) => there.includes(String(path)), false);
    assert.deepEqual(found.map((one) => shown(one).replace(`-m ${MODULE}`, "-m")), wanted);
  });
}

test("looks where Windows keeps an environment's interpreter", () => {
  const [first] = candidates(BARE, (path) => String(path).includes("Scripts"), true);
  assert.match(first!.command, /\.venv.Scripts.python\.exe$/);
});

const answering = (working: string) => async (server: Server) =>
  shown(server).startsWith(working) ? { version: "1.2.3", why: "" } : { why: "No module named normlint" };

test("takes the first one that runs, and keeps why others don't", async () => {
  const found = await find(BARE, (path) => path === VENV, answering("normlint-server"));
  assert.equal(found.server?.command, "normlint-server");
  assert.equal(found.version, "1.2.3");
  assert.deepEqual(found.tried, [`${VENV} -m ${MODULE}: No module named normlint`]);
});

test("says what to install where nothing runs", async () => {
  const at = { ...BARE, interpreter: SELECTED };
  const found = await find(at, () => false, answering("nothing"));
  assert.equal(found.server, undefined);
  assert.ok(help(at, found).includes(`pip install "normlint[lsp]" in the environment of ${SELECTED}`));
});

test("doesn't replace a configured server that isn't there, and says so", async () => {
  const at = { ...BARE, configured: "/no/such/normlint-server", interpreter: SELECTED };
  const found = await find({ ...at, extension: "/" });
  assert.equal(found.server, undefined);
  assert.equal(help(at, found), "normlint.path leads to no server: /no/such/normlint-server: not there");
});

test("takes no other program for the server", async () => {
  const found = await find({ ...BARE, configured: process.execPath, extension: "/" });
  assert.match(found.tried.join(), /node.*: v\d+/);
});

test("starts the server outside the workspace", () => {
  const started = executable({ command: "a", args: ["b"] }, BARE);
  assert.deepEqual(started, { command: "a", args: ["b"], options: { cwd: "/extension" } });
});

test("hands the server its own settings, and what nobody knows", () => {
  const section = { path: "x", trace: { server: "off" }, select: null, device: "cpu", selct: [] };
  assert.deepEqual(settings(section), { select: null, device: "cpu", selct: [] });
  assert.deepEqual(settings(null), {});
});
