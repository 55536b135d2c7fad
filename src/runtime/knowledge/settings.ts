import type { Config } from '../../model/config.ts'
import { type RootOptions, settleRoots } from './roots.ts'

/** A person lets an untrusted pack be used; with a digest, as long as its files do not change. */
export interface PackApproval {
  readonly id: string
  readonly digest?: string | undefined
}

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
  const { roots, enable, disable = [], approve = [], types = [], ignored } = given ?? {}
  return { roots: roots && settleRoots(roots, base), enable, disable, approve, types, ignored }
}
