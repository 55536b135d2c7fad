import { quote } from '../../base/failure.ts'
import { nearest } from '../../base/nearest.ts'
import { toolsOf } from '../../runtime/hosting/tools.ts'
import type { Door } from '../door.ts'

/** Which capability somebody may have meant: the one that MCP clients know by this name, or the one most like it. */
export async function likeOf(door: Door, asked: string): Promise<string> {
  const known = await door.capabilities()
  const meant =
    toolsOf(known).find(({ name }) => name === asked)?.capabilityId ??
    nearest(
      asked,
      known.map(({ id }) => id),
    )
  return `${meant === undefined ? '' : `did you mean ${quote(meant)}? `}see \`ambit capabilities list\``
}
