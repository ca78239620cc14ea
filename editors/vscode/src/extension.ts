// The extension: finds the server, runs it, and hands it what the user asks for.
import { commands, extensions, window, workspace } from "vscode";
import type { Disposable, ExtensionContext, LogOutputChannel, Uri } from "vscode";
import { LanguageClient } from "vscode-languageclient/node";
import type { LanguageClientOptions } from "vscode-languageclient/node";
import { executable, find, help, settings, shown } from "./server";
import type { Places, Server } from "./server";

/** As much of the Python extension's interface as is used. */
interface PythonExtension {
  environments: {
    getActiveEnvironmentPath(resource?: Uri): { path: string };
    resolveEnvironment(environment: { path: string }): Promise<{ executable: { uri?: Uri } } | undefined>;
    onDidChangeActiveEnvironmentPath(listener: () => void): Disposable;
  };
}

const DOCUMENTS = [
  ...["python", "markdown"].flatMap((language) => ["file", "untitled"].map((scheme) => ({ scheme, language }))),
  { notebook: "*", language: "python" },
];

let running: { client: LanguageClient; server: Server } | undefined;
let queue: Promise<unknown> = Promise.resolve();
let told = "";

export async function activate(context: ExtensionContext): Promise<void> {
  const log = window.createOutputChannel("normlint", { log: true });
  const python = await pythonExtension(log);
  const start = (afresh: boolean) =>
    (queue = queue.then(() => started(context, log, python, afresh)).catch((error) => log.error(error)));
  const here = (work: (uri: string, line: number) => Promise<void>) => async () => {
    const editor = window.activeTextEditor;
    await (running ? queue : start(true));
    if (editor && running) {
      await work(editor.document.uri.toString(), editor.selection.active.line);
    }
  };
  context.subscriptions.push(
    log,
    commands.registerCommand("normlint.restart", () => start(true)),
    commands.registerCommand("normlint.showLog", () => log.show()),
    commands.registerCommand("normlint.fixAll", here(fixAll)),
    commands.registerCommand("normlint.verifyHere", here(verify)),
    workspace.onDidChangeConfiguration((change) => change.affectsConfiguration("normlint.path") && start(false)),
    workspace.onDidChangeWorkspaceFolders(() => start(false)),
  );
  if (python) {
    context.subscriptions.push(python.environments.onDidChangeActiveEnvironmentPath(() => start(false)));
  }
  await start(false);
}

export async function deactivate(): Promise<void> {
  await queue;
  await running?.client.stop();
}

/** Runs the server that is found now. Unless afresh, the one that is running goes on if it is the same. */
async function started(
  context: ExtensionContext,
  log: LogOutputChannel,
  python: PythonExtension | undefined,
  afresh: boolean,
): Promise<void> {
  const at = await places(context, python);
  const found = await find(at);
  found.tried.forEach((line) => log.info(`no server: ${line}`));
  if (!afresh && running && JSON.stringify(running.server) === JSON.stringify(found.server)) {
    return;
  }
  await running?.client.dispose();
  running = undefined;
  if (!found.server) {
    tell(help(at, found), log, afresh);
    return;
  }
  told = "";
  log.info(`normlint-server ${found.version}: ${shown(found.server)}`);
  const options: LanguageClientOptions = {
    documentSelector: DOCUMENTS,
    outputChannel: log,
    middleware: {
      workspace: {
        configuration: async (params, token, next) => {
          const sections = await next(params, token);
          return Array.isArray(sections) ? sections.map(settings) : sections;
        },
      },
    },
  };
  const client = new LanguageClient("normlint", executable(found.server, at), options);
  await client.start();
  running = { client, server: found.server };
}

async function places(context: ExtensionContext, python: PythonExtension | undefined): Promise<Places> {
  const folders = (workspace.workspaceFolders ?? []).filter(({ uri }) => uri.scheme === "file");
  const active = python?.environments.getActiveEnvironmentPath(folders[0]?.uri);
  const environment = active && (await python?.environments.resolveEnvironment(active));
  return {
    configured: workspace.getConfiguration("normlint", folders[0]?.uri).get("path", ""),
    interpreter: environment?.executable.uri?.fsPath,
    folders: folders.map(({ uri }) => uri.fsPath),
    extension: context.extensionPath,
  };
}

async function pythonExtension(log: LogOutputChannel): Promise<PythonExtension | undefined> {
  try {
    return await extensions.getExtension<PythonExtension>("ms-python.python")?.activate();
  } catch (error) {
    log.warn(`the Python extension doesn't start: ${error}`);
    return undefined;
  }
}

/** The same is told again only to one who asks. */
async function tell(message: string, log: LogOutputChannel, again: boolean): Promise<void> {
  log.warn(message);
  if (message === told && !again) {
    return;
  }
  told = message;
  const chosen = await window.showWarningMessage(message, "Open Settings", "Show Log");
  if (chosen === "Open Settings") {
    await commands.executeCommand("workbench.action.openSettings", "normlint.path");
  } else if (chosen) {
    log.show();
  }
}

async function fixAll(uri: string): Promise<void> {
  if (!(await commands.executeCommand<boolean>("normlint.applyFixAll", uri))) {
    window.showInformationMessage("normlint: there is nothing to fix in this file that the settings allow.");
  }
}

async function verify(uri: string, line: number): Promise<void> {
  await commands.executeCommand("normlint.verify", uri, { line });
}
