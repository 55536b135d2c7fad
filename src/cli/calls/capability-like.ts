import { quote } from '../../base/failure.ts'
import { nearest } from '../../base/nearest.ts'
import type { Operable } from '../../operations/ambit.ts'
import { toolsOf } from '../../runtime/hosting/tools.ts'

/** Which capability somebody may have meant: the one that MCP clients know by this name, or the one most like it. */
export async function likeOf(ambit: Operable, asked: string): Promise<string> {
  const { capabilities } = await ambit.capabilities.list()
  const ids = capabilities.map(({ id }) => id)
  const meant = toolsOf(capabilities).find(({ name }) => name === asked)?.capabilityId ?? nearest(asked, ids)
  return `${meant === undefined ? '' : `did you mean ${quote(meant)}? `}see \`ambit capabilities list\``
}
