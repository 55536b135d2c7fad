import { accessSync, constants } from 'node:fs'
import { delimiter, resolve } from 'node:path'
import type { McpUpstream } from '../../model/config/upstream.ts'

/**
 * The server with the whole path of its program where that is a bare name, as the search path says here: whoever starts
 * it later may have another one. A name that leads to nothing stays, and so do all on Windows, which adds endings.
 */
export function withWholeCommand(server: McpUpstream['server']): McpUpstream['server'] {
  if ('url' in server || /[/\\]/.test(server.command) || process.platform === 'win32') return server
  const folders = (server.env?.['PATH'] ?? process.env['PATH'] ?? '').split(delimiter).filter(Boolean)
  for (const folder of folders)
    try {
      const command = resolve(folder, server.command)
      accessSync(command, constants.X_OK)
      return { ...server, command }
    } catch {}
  return server
}
