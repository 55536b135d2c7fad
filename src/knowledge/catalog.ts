import { byUnit } from '../base/canonical.ts'
import { defined } from '../base/object.ts'
import { type CatalogPart, fence } from '../fence/fence.ts'
import type { PackHeader, RootScope } from '../model/knowledge/knowledge.ts'
import { isEnabled, needsApproval, type Permissions } from './gates.ts'
import type { Pack } from './pack.ts'
import { byPrecedence } from './precedence.ts'
import type { CountTokens } from './select/section.ts'
import { warningPart } from './select/warnings.ts'

type Unlisted = 'trust' | 'license' | 'updated' | 'maintainers' | 'primaryOntology' | 'primaryAnswers' | 'producedBy'

/** What can be known of a pack before it is opened. The trust is the effective one. */
export interface CatalogEntry extends Omit<PackHeader, Unlisted>, Pick<Pack, 'id' | 'path' | 'digest' | 'trust'> {
  readonly needsApproval: boolean
  readonly root: { readonly id: string; readonly scope: RootScope }
}

/** The packs that somebody may ask for. What is switched off or archived is not listed and blocked, it is not there. */
export const catalogOf = (packs: readonly Pack[], permissions: Permissions): readonly CatalogEntry[] =>
  packs
    .filter((pack) => pack.header.status !== 'archived' && isEnabled(pack, permissions))
    .toSorted((left, right) => byUnit(left.header.name, right.header.name) || byPrecedence(left, right))
    .map((pack) => entryOf(pack, permissions))

function entryOf(pack: Pack, permissions: Permissions): CatalogEntry {
  const { name, description, type, status, profile, mode, grounding } = pack.header
  const { scope, version, language, compatibility, primaryDocument } = pack.header
  return {
    id: pack.id,
    name,
    description,
    type,
    status,
    profile,
    mode,
    trust: pack.trust,
    needsApproval: needsApproval(pack, permissions),
    grounding,
    ...defined({ scope, version, language, compatibility, primaryDocument }),
    root: { id: pack.root, scope: pack.scope },
    path: pack.path,
    digest: pack.digest,
  }
}

/**
 * The catalog as a model sees it, in a fence; nothing where there is no pack. Packs that wait for approval are marked. As
 * many are listed as the budget holds, and how many are not is told.
 */
export function catalogText(
  entries: readonly CatalogEntry[],
  by: { readonly seed: Uint8Array; readonly budget: number; readonly count: CountTokens },
): string {
  for (let shown = entries.length; shown > 0; shown = shown > 8 ? Math.floor(shown * 0.8) : shown - 1) {
    const left = entries.length - shown
    const more = left === 0 ? [] : [warningPart('truncated', 'warning', `${left} more packs are not listed`)]
    const parts = [...entries.slice(0, shown).map(partOf), ...more]
    const { text } = fence({ element: 'available_knowledge_packs', parts, seed: by.seed })
    if (by.count(text) <= by.budget) return text
  }
  return ''
}

function partOf(entry: CatalogEntry): CatalogPart {
  const { name, type, status, version, language, description: text } = entry
  const trust = entry.needsApproval ? `${entry.trust}, waits for approval` : entry.trust
  return { element: 'knowledge_entry', name, type, status, trust, version, language, text }
}
