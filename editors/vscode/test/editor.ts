// A session in the editor itself: `run` is what it calls as the extension's tests. See CONTRIBUTING.md.
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  CodeAction,
  ConfigurationTarget,
  NotebookCellData,
  NotebookCellKind,
  NotebookData,
  Range,
  commands,
  languages,
  window,
  workspace,
} from "vscode";
import type { Diagnostic, Hover, MarkdownString, TextDocument } from "vscode";

const WRONG = ".mean()";
const RIGHT = ".mean(-1, keepdim=True)";
const BROKEN = `import torch

def rms_norm(x, weight, eps=1e-6):
    h = x.float()
    return (h * torch.rsqrt(h.pow(2)${WRONG} + eps)).type_as(x) * weight
`;

async function until<T>(look: () => T | undefined | false, otherwise: string): Promise<T> {
  for (let waited = 0; waited < 60_000; waited += 100) {
    const found = look();
    if (found) {
      return found;
    }
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(otherwise);
}

const problems = ({ uri }: TextDocument) => languages.getDiagnostics(uri).filter(({ source }) => source === "normlint");
const one = (document: TextDocument): Promise<Diagnostic> => until(() => problems(document)[0], "no problem is shown");
const none = (document: TextDocument) => until(() => problems(document).length === 0, "a problem stays");

async function opened(content: string, language = "python"): Promise<TextDocument> {
  const document = await workspace.openTextDocument({ language, content });
  await window.showTextDocument(document);
  return document;
}

const STEPS: Record<string, () => Promise<void>> = {
  "a finding leads to its page": async () => {
    const found = await one(await opened(BROKEN));
    const code = found.code as { value: string; target: { toString(): string } };
    assert.equal(code.value, "NRM101");
    assert.match(code.target.toString(), /^https:\/\/normlint\.readthedocs\.io\/rules\//);
  },
  "a quick fix fixes it": async () => {
    const document = await opened(BROKEN);
    const { range } = await one(document);
    const offered = "vscode.executeCodeActionProvider";
    const actions = await commands.executeCommand<CodeAction[]>(offered, document.uri, range);
    const fix = actions.find(({ title }) => title.startsWith("NRM101: "));
    assert.ok(fix?.edit && fix.isPreferred);
    assert.ok(await workspace.applyEdit(fix.edit));
    assert.equal(document.getText(), BROKEN.replace(WRONG, RIGHT));
    await none(document);
  },
  "the command makes all fixes": async () => {
    const document = await opened(BROKEN);
    await one(document);
    await commands.executeCommand("normlint.fixAll");
    assert.equal(document.getText(), BROKEN.replace(WRONG, RIGHT));
    await none(document);
  },
  "it is fixed on save": async () => {
    const path = join(mkdtempSync(join(tmpdir(), "normlint-")), "norm.py");
    writeFileSync(path, BROKEN);
    const settings = workspace.getConfiguration("editor", { languageId: "python" });
    const onSave = (value?: object) => settings.update("codeActionsOnSave", value, ConfigurationTarget.Global, true);
    await onSave({ "source.fixAll.normlint": "explicit" });
    const editor = await window.showTextDocument(await workspace.openTextDocument(path));
    await one(editor.document);
    await editor.edit((edit) => edit.insert(editor.document.positionAt(0), "\n"));
    await editor.document.save();
    await onSave();
    assert.equal(readFileSync(path, "utf8"), `\n${BROKEN.replace(WRONG, RIGHT)}`);
  },
  "a hover says what is wrong": async () => {
    const document = await opened(BROKEN);
    const { range } = await one(document);
    const [hover] = await commands.executeCommand<Hover[]>("vscode.executeHoverProvider", document.uri, range.start);
    assert.match((hover!.contents[0] as MarkdownString).value, /NRM101/);
  },
  "a page is read, and a notebook's cells as one text": async () => {
    await one(await opened(`# A page\n\n\`\`\`python\n${BROKEN}\`\`\`\n`, "markdown"));
    const cells = BROKEN.split(/\n\n/).map((text) => new NotebookCellData(NotebookCellKind.Code, text, "python"));
    const notebook = await workspace.openNotebookDocument("jupyter-notebook", new NotebookData(cells));
    await window.showNotebookDocument(notebook);
    assert.equal((await one(notebook.cellAt(1).document)).range.start.line, 2);
    await none(notebook.cellAt(0).document);
  },
  "a setting holds at once, and as long as it is set": async () => {
    const document = await opened(BROKEN);
    const settings = workspace.getConfiguration("normlint");
    await one(document);
    await settings.update("ignore", ["NRM1"], ConfigurationTarget.Global);
    await none(document);
    await settings.update("ignore", undefined, ConfigurationTarget.Global);
    await one(document);
  },
  "a path that leads nowhere stops the server, the next one that is right starts it": async () => {
    const document = await opened(BROKEN);
    const settings = workspace.getConfiguration("normlint");
    await one(document);
    await settings.update("path", "/no/such/server", ConfigurationTarget.Global);
    await none(document);
    await settings.update("path", undefined, ConfigurationTarget.Global);
    await one(document);
  },
  "a server that is started anew knows what is open": async () => {
    const document = await opened(BROKEN);
    await one(document);
    await commands.executeCommand("normlint.restart");
    await one(document);
    const whole = new Range(document.positionAt(0), document.positionAt(BROKEN.length));
    await window.activeTextEditor!.edit((edit) => edit.replace(whole, BROKEN.replace(WRONG, RIGHT)));
    await none(document);
  },
};

/** Rejected where a step fails; NORMLINT_RESULT names a file for what each has shown. */
export async function run(): Promise<void> {
  const failed: string[] = [];
  const lines: string[] = [];
  for (const [name, step] of Object.entries(STEPS)) {
    const error = await step().then(() => undefined, (reason: Error) => reason);
    lines.push(error ? `not ok - ${name}: ${error.stack}` : `ok - ${name}`);
    failed.push(...(error ? [name] : []));
  }
  console.log(lines.join("\n"));
  if (process.env.NORMLINT_RESULT) {
    writeFileSync(process.env.NORMLINT_RESULT, `${lines.join("\n")}\n${failed.length} failed\n`);
  }
  assert.deepEqual(failed, []);
}
