// The real server, found and started as the extension does it, with what its client answers.
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { pathToFileURL } from "node:url";
import {
  StreamMessageReader,
  StreamMessageWriter,
  createProtocolConnection,
} from "vscode-languageserver-protocol/node";
import type {
  CodeAction,
  Diagnostic,
  InitializeResult,
  PublishDiagnosticsParams,
  TextEdit,
} from "vscode-languageserver-protocol/node";
import { executable, find, settings } from "../src/server";
import type { Places } from "../src/server";

const PYTHON = process.env.NORMLINT_PYTHON ?? (process.platform === "win32" ? "python" : "python3");
const AT: Places = { configured: "", interpreter: PYTHON, folders: [], extension: process.cwd() };
const BROKEN = `import torch

def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2).mean() + eps)).type_as(x) * weight
`;
const URI = pathToFileURL(join(tmpdir(), "normlint-vscode", "norm.py")).href;
const SECTION = { path: "", trace: { server: "off" }, select: null, verifyTimeout: 10 };

function edited(text: string, edits: TextEdit[]): string {
  const starts = text.split("\n").map((_, n, lines) => lines.slice(0, n).join("\n").length + Number(n > 0));
  const offset = ({ line, character }: TextEdit["range"]["start"]) => starts[line]! + character;
  const last = [...edits].sort((one, two) => offset(two.range.start) - offset(one.range.start));
  const made = (now: string, { range, newText }: TextEdit) =>
    now.slice(0, offset(range.start)) + newText + now.slice(offset(range.end));
  return last.reduce(made, text);
}

test("a broken norm is shown, fixed, and no longer shown", { timeout: 60_000 }, async () => {
  const { server, version, tried } = await find(AT);
  assert.ok(server, `install normlint[lsp] for ${PYTHON}, or name its interpreter in NORMLINT_PYTHON: ${tried}`);
  assert.match(version!, /^\d+\.\d+/);
  const { command, args, options } = executable(server, AT);
  const child = spawn(command, args, options);
  const ended = new Promise((resolve) => child.on("exit", resolve));
  const [input, output] = [new StreamMessageReader(child.stdout), new StreamMessageWriter(child.stdin)];
  const connection = createProtocolConnection(input, output);
  const said: string[] = [];
  const shown: Diagnostic[][] = [];
  let news = () => {};
  connection.onRequest("workspace/configuration", ({ items }) => items.map(() => settings(SECTION)));
  connection.onRequest("client/registerCapability", () => null);
  connection.onNotification("window/showMessage", ({ message }) => void said.push(message));
  connection.onNotification("textDocument/publishDiagnostics", ({ uri, diagnostics }: PublishDiagnosticsParams) => {
    assert.equal(uri, URI);
    shown.push(diagnostics);
    news();
  });
  const problems = async (count: number) => {
    while (shown.at(-1)?.length !== count) {
      await new Promise<void>((resolve) => (news = resolve));
    }
    return shown.at(-1)!;
  };
  connection.listen();

  const capabilities = { workspace: { configuration: true } };
  const start = { processId: process.pid, rootUri: null, capabilities };
  const initialized = await connection.sendRequest<InitializeResult>("initialize", start);
  const offered = initialized.capabilities.executeCommandProvider?.commands ?? [];
  assert.deepEqual(["normlint.applyFixAll", "normlint.verify"].filter((name) => !offered.includes(name)), []);
  await connection.sendNotification("initialized", {});
  const opened = { uri: URI, languageId: "python", version: 1, text: BROKEN };
  await connection.sendNotification("textDocument/didOpen", { textDocument: opened });

  const [found] = await problems(1);
  assert.deepEqual([found!.code, found!.severity, found!.source], ["NRM101", 1, "normlint"]);
  assert.match(found!.codeDescription!.href, /^https:\/\/normlint\.readthedocs\.io\/rules\//);
  const context = { diagnostics: [found], only: ["quickfix"] };
  const asked = { textDocument: { uri: URI }, range: found!.range, context };
  const [fix] = await connection.sendRequest<CodeAction[]>("textDocument/codeAction", asked);
  assert.equal(fix!.isPreferred, true);
  const text = edited(BROKEN, fix!.edit!.changes![URI]!);
  assert.ok(text.includes(".mean(-1, keepdim=True)"), text);
  const changed = { textDocument: { uri: URI, version: 2 }, contentChanges: [{ text }] };
  await connection.sendNotification("textDocument/didChange", changed);
  await problems(0);

  assert.deepEqual(said, []);
  await connection.sendRequest("shutdown");
  await connection.sendNotification("exit");
  assert.equal(await ended, 0);
  connection.dispose();
});
