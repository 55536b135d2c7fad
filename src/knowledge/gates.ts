import { type Diagnostic, diagnostic } from './diagnostic.ts'
import { isTrusted, type Pack } from './pack.ts'

/** What people have said about packs. A model can say none of it. */
export interface Permissions {
  /** Only what stands in each of these lists can be used: names, ids or scopes. */
  readonly enable?: readonly (readonly string[])[] | undefined
  /** These cannot be used, even if somebody names them. */
  readonly disable?: readonly string[] | undefined
  /** Whether a person lets an untrusted pack be used. */
  readonly approved: (pack: Pack) => boolean
  /** Whether a person did, and the pack has changed since. */
  readonly lapsed?: (pack: Pack) => boolean
  /** Whether a person lets a draft, disputed or archived pack be used now. */
  readonly confirmed: (pack: Pack) => boolean
}

/** `named`: by the user or the program that asks. `found`: because it fits the question. */
export type Use = 'named' | 'found'

/** Why a pack may not be used so, or nothing: enabled → approved → status. */
export function refusalOf(pack: Pack, use: Use, permissions: Permissions): Diagnostic | undefined {
  const say = (code: Diagnostic['code'], message: string) => diagnostic(code, '', message, { pack: pack.id })
  const { name, status } = pack.header
  if (!isEnabled(pack, permissions)) return say('pack-disabled', `\`${name}\` is switched off`)
  const why = permissions.lapsed?.(pack) ? 'changed since it was approved' : `is ${pack.trust}`
  if (needsApproval(pack, permissions))
    return say('approval-needed', `\`${name}\` ${why}: a person has to approve it first`)
  if (statusAllows(pack, use, permissions)) return undefined
  return say('confirm-needed', `\`${name}\` is ${status}: a person has to confirm its use`)
}

export const isEnabled = (pack: Pack, { enable = [], disable = [] }: Permissions): boolean =>
  !isListed(pack, disable) && enable.every((list) => isListed(pack, list))

const isListed = ({ id, scope, header }: Pack, list: readonly string[]): boolean =>
  list.includes(header.name) || list.includes(id) || list.includes(scope)

export const needsApproval = (pack: Pack, { approved }: Permissions): boolean =>
  !isTrusted(pack.trust) && !approved(pack)

function statusAllows(pack: Pack, use: Use, { confirmed }: Permissions): boolean {
  const { status } = pack.header
  if (status === 'ready' || status === 'needs-review' || status === 'stale') return true
  return use === 'named' && confirmed(pack)
}

/** What a model and a record are told about a pack that is used and not ready. */
export function statusWarning({ id, header }: Pack): Diagnostic | undefined {
  if (header.status === 'ready') return undefined
  return diagnostic(`status-${header.status}`, '', `\`${header.name}\` is ${header.status}`, { pack: id })
}
