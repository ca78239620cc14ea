"""Neovim and Emacs themselves, set up by the words of the documentation: problems, hover and a fix."""

from __future__ import annotations

import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "editors.md"
BROKEN = """\
import torch
from torch import nn


class RMSNorm(nn.Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.eps = eps
        self.weight = nn.Parameter(torch.ones(dim))

    def forward(self, x):
        h = x.float()
        h = h * torch.rsqrt(h.pow(2).mean() + self.eps)
        return self.weight * h.type_as(x)
"""
FIXED = BROKEN.replace("mean()", "mean(-1, keepdim=True)")
needs_page = pytest.mark.skipif(not PAGE.exists(), reason="the sdist is without the pages")
needs_pygls = pytest.mark.skipif(importlib.util.find_spec("pygls") is None, reason="the server needs pygls")
pytestmark = [needs_page, needs_pygls, pytest.mark.skipif(os.name == "nt", reason="the server's stand-in is a script")]


def settings(editor: str, language: str) -> str:
    """What the page tells people to write into their editor's configuration."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {editor}\n")[2].partition("\n## ")[0]
    found = re.search(rf"```{language}\n(.*?)```", section, re.DOTALL)
    assert found
    return found[1]


def session(place: Path, *command: str) -> dict[str, Any]:
    """What the editor has written down, with `normlint-server` on its path and a broken norm in its directory."""
    server = place / "bin" / "normlint-server"
    server.parent.mkdir()
    server.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m normlint.faces.server.command "$@"\n')
    server.chmod(0o755)
    (place / "pyproject.toml").touch()
    (place / "rmsnorm.py").write_text(BROKEN)
    ours = {
        "PATH": f"{server.parent}{os.pathsep}{os.environ['PATH']}",
        "HOME": str(place),
        "XDG_STATE_HOME": str(place),
    }
    paths = os.pathsep.join(filter(None, (str(ROOT), os.environ.get("PYTHONPATH"))))
    env = os.environ | ours | {"PYTHONPATH": paths}
    ran = subprocess.run(command, cwd=place, env=env, capture_output=True, text=True, timeout=180, check=False)
    assert (place / "said.json").exists(), ran.stdout + ran.stderr
    said: dict[str, Any] = json.loads((place / "said.json").read_text(encoding="utf-8"))
    return said


def holds(said: dict[str, Any], place: Path) -> None:
    """What both editors show."""
    assert said["problems"] == ["NRM101 `mean` without a dim: all tokens of the batch share one scale"]
    assert "What comes out for a token depends on its neighbours" in said["hover"]
    assert "NRM101: Reduce over the last axis, and keep it" in said["actions"]
    assert said["left"] == 0
    assert (place / "rmsnorm.py").read_text() == FIXED


NEOVIM = """
local said = {}
local function wait(what, holds)
  assert(vim.wait(60000, holds, 50), "waited for " .. what)
end
local function floating()
  for _, window in ipairs(vim.api.nvim_list_wins()) do
    if vim.api.nvim_win_get_config(window).relative ~= "" then return window end
  end
end
wait("problems", function() return #vim.diagnostic.get(0) > 0 end)
said.problems = vim.tbl_map(function(one) return one.code .. " " .. one.message end, vim.diagnostic.get(0))
local at = vim.diagnostic.get(0)[1]
vim.api.nvim_win_set_cursor(0, { at.lnum + 1, at.col })
vim.lsp.buf.hover()
wait("hover", floating)
said.hover = table.concat(vim.api.nvim_buf_get_lines(vim.api.nvim_win_get_buf(floating()), 0, -1, false), "\\n")
vim.api.nvim_win_close(floating(), true)
said.actions = {}
vim.lsp.buf.code_action({
  apply = true,
  filter = function(action)
    table.insert(said.actions, action.title)
    return action.title:match("^NRM101: ") ~= nil
  end,
})
wait("the fix", function() return table.concat(vim.api.nvim_buf_get_lines(0, 0, -1, false)):match("keepdim") end)
wait("no problem", function() return #vim.diagnostic.get(0) == 0 end)
said.left = #vim.diagnostic.get(0)
vim.cmd.write()
vim.fn.writefile({ vim.json.encode(said) }, "said.json")
vim.cmd("qall!")
"""


def neovim() -> str:
    program = shutil.which("nvim")
    version = program and subprocess.run([program, "--version"], capture_output=True, text=True, check=False).stdout
    found = re.match(r"NVIM v0\.(\d+)", version or "")
    if program is None or not found or int(found[1]) < 11:
        pytest.skip("there is no Neovim 0.11 or newer")
    return program


def test_neovim(tmp_path: Path) -> None:
    (tmp_path / "init.lua").write_text(settings("Neovim", "lua"))
    (tmp_path / "session.lua").write_text(NEOVIM)
    started = (neovim(), "--headless", "-i", "NONE", "-u", "init.lua", "rmsnorm.py")
    holds(session(tmp_path, *started, "-c", "luafile session.lua", "-c", "cquit"), tmp_path)


EMACS = """;;; -*- lexical-binding: t; -*-
(require 'json)
(require 'flymake)
(defun wait (what holds)
  (let ((end (+ (float-time) 60)))
    (while (not (funcall holds))
      (when (> (float-time) end) (error "waited for %s" what))
      (accept-process-output nil 0.05))))
(setq flymake-no-changes-timeout nil
      last-nonmenu-event ?x)  ; a key and not the mouse, so that a choice is read
(find-file "rmsnorm.py")
(apply #'eglot (eglot--guess-contact))
(wait "the server" #'eglot-current-server)
(wait "problems" (lambda () (flymake-start) (flymake-diagnostics)))
(let* ((one (car (flymake-diagnostics)))
       (problems (mapcar (lambda (each) (replace-regexp-in-string "^normlint \\\\[\\\\(.*?\\\\)\\\\]: " "\\\\1 "
                                          (flymake-diagnostic-text each)))
                         (flymake-diagnostics)))
       hover actions)
  (goto-char (flymake-diagnostic-beg one))
  (eglot-hover-eldoc-function (lambda (text &rest _) (setq hover (substring-no-properties text))))
  (wait "hover" (lambda () hover))
  (cl-letf (((symbol-function 'completing-read)
             (lambda (_ choices &rest _)
               (setq actions (mapcar #'car choices))
               (seq-find (lambda (each) (string-prefix-p "NRM101: " each)) actions))))
    (eglot-code-actions (point) (point) "quickfix" t))
  (wait "the fix" (lambda () (save-excursion (goto-char (point-min)) (search-forward "keepdim" nil t))))
  (eglot--signal-textDocument/didChange)
  (wait "no problem" (lambda () (flymake-start) (null (flymake-diagnostics))))
  (save-buffer)
  (with-temp-file "said.json"
    (insert (json-encode `((problems . ,(vconcat problems)) (hover . ,hover)
                           (actions . ,(vconcat actions)) (left . ,(length (flymake-diagnostics))))))))
(kill-emacs)
"""


def emacs() -> str:
    program = shutil.which("emacs")
    asked = ("--batch", "--eval", "(progn (package-initialize) (require 'eglot))")
    if program is None or subprocess.run([program, *asked], capture_output=True, check=False).returncode:
        pytest.skip("there is no Emacs with Eglot")
    return program


def test_emacs(tmp_path: Path) -> None:
    (tmp_path / "init.el").write_text(settings("Emacs", "elisp"))
    (tmp_path / "session.el").write_text(EMACS)
    found = ("--eval", "(progn (package-initialize) (require 'eglot) (require 'cl-lib))")
    holds(session(tmp_path, emacs(), "--batch", *found, "-l", "init.el", "-l", "session.el"), tmp_path)
