import { z } from 'zod'

export const packTypes = [
  'personal-profile',
  'brand-persona',
  'brand-product',
  'organization-knowhow',
  'content-operations',
  'private-domain-operations',
  'live-commerce-operations',
  'campaign-operations',
  'growth-strategy',
  'content-ontology',
  'domain-reference',
  'research-wiki',
] as const

export const packStatus = z.enum(['draft', 'ready', 'needs-review', 'stale', 'disputed', 'archived'])
export type PackStatus = z.infer<typeof packStatus>

/** From the least to the most. */
export const packTrust = z.enum(['unreviewed', 'external', 'user-confirmed', 'official'])
export type PackTrust = z.infer<typeof packTrust>

export const packGrounding = z.enum(['none', 'recommended', 'required'])
export type PackGrounding = z.infer<typeof packGrounding>

export const packProfile = z.enum(['document-first', 'wiki-first', 'hybrid'])
export type PackProfile = z.infer<typeof packProfile>

export const packMode = z.enum(['data', 'persona'])
export type PackMode = z.infer<typeof packMode>

/** How a pack came to be used: the caller named it, it fits the question, or a ranker outside of Ambit chose it. */
export const packActivation = z.enum(['explicit', 'implicit', 'resolver-driven'])
export type PackActivation = z.infer<typeof packActivation>

/** Where a root comes from; of packs with one name, those of the first win. */
export const rootScope = z.enum(['workspace', 'user', 'organisation', 'builtin'])
export type RootScope = z.infer<typeof rootScope>

/** The primary files are paths relative to the pack root, as written: not yet checked. */
type HeaderText =
  | ('scope' | 'version' | 'language' | 'license' | 'updated' | 'compatibility')
  | ('primaryDocument' | 'primaryOntology' | 'primaryAnswers')

/** What the frontmatter of a pack says, with defaults filled in and values clipped to their limits. */
export interface PackHeader extends Readonly<Partial<Record<HeaderText, string | undefined>>> {
  readonly name: string
  readonly description: string
  /** One of `packTypes`, or `custom:<namespace>`. */
  readonly type: string
  readonly status: PackStatus
  readonly profile: PackProfile
  readonly mode: PackMode
  /** As declared; what counts is the effective trust of the pack. */
  readonly trust: PackTrust
  readonly grounding: PackGrounding
  readonly maintainers: readonly string[]
  readonly producedBy?: ProducedBy | undefined
}

/** Who made the pack: reported, never started. */
export type ProducedBy = Readonly<Partial<Record<'kind' | 'name' | 'version' | 'digest', string | undefined>>>
