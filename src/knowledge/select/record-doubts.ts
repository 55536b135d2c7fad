import type { DiagnosticCode } from '../diagnostic.ts'
import { type RecordItem, textOf } from './record-items.ts'
import type { SectionFinding } from './section.ts'

/** Everything but a reviewed entry with evidence is doubtful, also one whose state is unknown to us. */
export function doubtsAbout(item: RecordItem, kind: string, proven: boolean): readonly SectionFinding[] {
  const found = (code: DiagnosticCode, message: string): SectionFinding => ({
    code,
    message: `${kind} \`${item.id}\` ${message}`,
  })
  const without = proven ? [] : [unproven(item, kind)]
  const state = stateOf(item)
  if (isForbidden(item)) return [found('claim-disputed', 'is forbidden: it must not be made'), ...without]
  if (/disput|conflict|contest/.test(state)) return [found('claim-disputed', 'is in dispute'), ...without]
  if (/stale|outdated|deprecated/.test(state)) return [found('claim-stale', 'is out of date'), ...without]
  if (!reviewed.test(state)) return [found('claim-inferred', 'was not reviewed'), ...without]
  return without
}

export const unproven = ({ id }: RecordItem, kind: string): SectionFinding => ({
  code: 'claim-source-required',
  message: `${kind} \`${id}\` has no evidence`,
})

export const isForbidden = (item: RecordItem): boolean =>
  /forbid|prohibit|banned/.test(stateOf(item)) || item.fields['forbidden'] === true

/** Every state that the entry gives, for one of them alone could hide another: `reviewed` and yet `disputed`. */
const stateOf = ({ fields }: RecordItem): string =>
  stateKeys
    .map((key) => textOf(fields, [key])?.toLowerCase())
    .filter((state) => state !== undefined)
    .join(' ')

const stateKeys = ['review_state', 'review_status', 'review', 'status', 'state']
const good = 'reviewed|approved|confirmed|verified|accepted|published|active|ready|user-confirmed|official'
const reviewed = new RegExp(`^(?:${good})(?: (?:${good}))*$`)
