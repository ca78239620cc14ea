// Which server is run, and with which settings: everything that needs no editor.
import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { homedir } from "node:os";
import { isAbsolute, join } from "node:path";

export interface Server {
  readonly command: string;
  readonly args: readonly string[];
}

/** What is known before anything is run. */
export interface Places {
  /** `normlint.path`, empty if it isn't set. */
  readonly configured: string;
  /** The workspace's interpreter, if the Python extension names one. */
  readonly interpreter?: string;
  readonly folders: readonly string[];
  /** The extension's own directory; the server is started there, where no module of the user's can shadow another. */
  readonly extension: string;
}

export interface Answer {
  readonly version?: string;
  /** Why there is no version. */
  readonly why: string;
}

export interface Found {
  readonly server?: Server;
  readonly version?: string;
  /** A line for each server that doesn't run. */
  readonly tried: readonly string[];
}

export const MODULE = "normlint.faces.server.command";
export const INSTALL = 'pip install "normlint[lsp]"';
const SCRIPT = "normlint-server";

/** The servers that there may be, the first ones first. One that is configured is the only one. */
export function candidates(at: Places, exists = existsSync, windows = process.platform === "win32"): Server[] {
  if (at.configured) {
    return [{ command: expanded(at.configured, at.folders[0]), args: [] }];
  }
  const python = windows ? ["Scripts", "python.exe"] : ["bin", "python"];
  const own = at.folders.flatMap((folder) => [".venv", "venv"].map((name) => join(folder, name, ...python)));
  const pythons = at.interpreter ? [at.interpreter] : own.filter((path) => exists(path));
  const bundled = join(at.extension, "bundled", "server.py");
  const carriers = exists(bundled) ? [...pythons, ...(windows ? ["python"] : ["python3", "python"])] : [];
  return [
    ...pythons.map((command) => ({ command, args: ["-m", MODULE] })),
    { command: SCRIPT, args: [] },
    ...carriers.map((command) => ({ command, args: [bundled] })),
  ];
}

/** The first one that runs. */
export async function find(at: Places, exists = existsSync, ask = asked): Promise<Found> {
  const tried: string[] = [];
  for (const server of candidates(at, exists)) {
    const { version, why } = await ask(server, at.extension);
    if (version) {
      return { server, version, tried };
    }
    tried.push(`${shown(server)}: ${why}`);
  }
  return { tried };
}

/** What the user is told where no server runs. */
export function help(at: Places, { tried }: Found): string {
  if (at.configured) {
    return `normlint.path leads to no server: ${tried.join(" ")}`;
  }
  const where = candidates(at).find(({ args }) => args[1] === MODULE)?.command;
  const into = where ? `the environment of ${where}` : "the project's environment";
  return `normlint's server was not found. Run ${INSTALL} in ${into}, then the command "normlint: Restart Server".`;
}

/** As the language client starts it. */
export function executable(server: Server, at: Places) {
  return { command: server.command, args: [...server.args], options: { cwd: at.extension } };
}

/** The section `normlint` without what is this extension's own: of the rest, the server says what it doesn't know. */
export function settings(section: Record<string, unknown> | null): Record<string, unknown> {
  const { path: _path, trace: _trace, ...servers } = section ?? {};
  return servers;
}

export function shown(server: Server): string {
  return [server.command, ...server.args].join(" ");
}

/** A relative path starts in the first folder; a bare name is looked for on the PATH. */
function expanded(path: string, folder = homedir()): string {
  const whole = path.replace(/^~(?=[/\\]|$)/, homedir()).replaceAll("${workspaceFolder}", folder);
  return isAbsolute(whole) || !/[/\\]/.test(whole) ? whole : join(folder, whole);
}

function asked(server: Server, cwd: string): Promise<Answer> {
  return new Promise((resolve) => {
    execFile(server.command, [...server.args, "--version"], { cwd, timeout: 20_000 }, (error, stdout, stderr) => {
      const version = /^normlint-server (\S+)/.exec(stdout)?.[1];
      const last = (stderr || stdout).trim().split("\n").at(-1);
      const missing = error?.code === "ENOENT" ? "not there" : undefined;
      resolve({ version: error ? undefined : version, why: missing ?? (last || error?.message || "no version") });
    });
  });
}
