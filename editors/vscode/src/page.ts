// Opens the page of a run in the browser.

import { randomUUID } from "node:crypto";
import { readFile } from "node:fs/promises";
import { type Server, createServer } from "node:http";
import type { AddressInfo } from "node:net";

import * as vscode from "vscode";

/**
 * Opens pages. If VS Code's window is on another machine (SSH, a container, a browser), the browser
 * cannot open files of this one. Then a server on this machine serves the page at an address that
 * cannot be guessed, and VS Code forwards its port.
 */
export class PageOpener implements vscode.Disposable {
  private servers: Server[] = [];

  async open(file: string): Promise<void> {
    const uri = vscode.env.remoteName
      ? vscode.Uri.parse(await this.serve(await readFile(file)))
      : vscode.Uri.file(file);
    if (!(await vscode.env.openExternal(uri))) {
      throw new Error(`no browser opened the page: open ${file}`);
    }
  }

  private async serve(page: Buffer): Promise<string> {
    const name = `/${randomUUID()}/report.html`;
    const server = createServer((request, response) => {
      const isPage = request.url === name;
      const type = { "content-type": "text/html; charset=utf-8" };
      response.writeHead(isPage ? 200 : 404, type);
      response.end(isPage ? page : "");
    });
    await new Promise<void>((resolve, reject) => {
      server.once("error", reject);
      server.listen(0, "127.0.0.1", resolve);
    });
    this.servers.push(server);
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}${name}`;
  }

  dispose(): void {
    for (const server of this.servers) {
      server.close();
      server.closeAllConnections();
    }
  }
}
