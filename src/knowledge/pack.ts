import type { Json } from '../base/canonical.ts'
import { type PackHeader, type PackTrust, packTrust, type RootScope } from '../model/knowledge/knowledge.ts'
import type { Diagnostic } from './diagnostic.ts'

/** A pack that can be read, as discovery found it: its frontmatter and where it lies, nothing of its content. */
export interface Pack {
  /** The id of its root and its path there: `workspace:guides/pumps`; of a root that is a pack itself `workspace:`. */
  readonly id: string
  readonly root: string
  readonly scope: RootScope
  /** Place of the root in the configuration. */
  readonly order: number
  /** Relative to the root, with `/`; empty for the root itself. */
  readonly path: string
  /** The namespace path its root stands at for grants; empty for the root of the tenant. */
  readonly at: string
  readonly header: PackHeader
  /** What counts: the lower of what it declares and the ceiling of its root. */
  readonly trust: PackTrust
  /** SHA-256 of the frontmatter as written, in hex. */
  readonly digest: string
  /** Frontmatter keys that are not ours, kept as they are. */
  readonly extra: { readonly [key: string]: Json }
  readonly diagnostics: readonly Diagnostic[]
}

/** A folder with an entry file that cannot be used, and why. */
export interface QuarantinedPack {
  readonly id: string
  readonly root: string
  readonly path: string
  /** The name it gives itself, where that could be read. */
  readonly name?: string | undefined
  readonly diagnostics: readonly Diagnostic[]
}

export const trustRank = (trust: PackTrust): number => packTrust.options.indexOf(trust)

/** Whether it may be used without a person who approves it. */
export const isTrusted = (trust: PackTrust): boolean => trustRank(trust) >= trustRank('user-confirmed')

export const lowerTrust = (left: PackTrust, right: PackTrust): PackTrust =>
  trustRank(left) <= trustRank(right) ? left : right
