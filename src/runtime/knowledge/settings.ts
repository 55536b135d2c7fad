import { resolve } from 'node:path'
import type { Config } from '../../model/config/config.ts'
import type { PackApproval } from './approvals.ts'
import { type RootOptions, settleRoots } from './roots.ts'

/** What a configuration says about knowledge packs. */
export interface KnowledgeSettings {
  /** Undefined where none are named: then the usual folders are looked in. */
  readonly roots: readonly RootOptions[] | undefined
  readonly enable: readonly string[] | undefined
  readonly disable: readonly string[]
  readonly approve: readonly PackApproval[]
  readonly types: readonly string[]
  readonly ignored: readonly string[] | undefined
}

export function settleKnowledge(given: Config['knowledge'], base: string): KnowledgeSettings {
  const { roots, enable, disable = [], types = [], ignored } = given ?? {}
  const approve = (given?.approve ?? []).map(({ path, digest }) => ({ path: resolve(base, path), digest }))
  return { roots: roots && settleRoots(roots, base), enable, disable, approve, types, ignored }
}
