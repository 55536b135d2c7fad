import { realpathSync } from 'node:fs'
import { join } from 'node:path'
import { objectHash } from '../../base/hash.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import { isTrusted, type Pack } from '../../knowledge/pack.ts'
import { attempt } from './attempt.ts'
import type { Library } from './library.ts'
import type { PackFile } from './list-files.ts'
import type { PackFiles } from './pack-files.ts'
import type { RootOptions } from './roots.ts'

/** A person lets an untrusted pack be used: the one in this folder, as long as none of its files changes. */
export interface PackApproval {
  readonly path: string
  /** From `contentDigestOf`. */
  readonly digest: string
}

/**
 * The packs that a person has approved, by id; false where they changed since. A pack is known by where it really lies and
 * by what is in it: the name and the place of its root in the configuration can come to mean another folder.
 */
export async function approvedPacks(
  approvals: readonly PackApproval[],
  packs: readonly Pack[],
  { library, roots }: { readonly library: Library; readonly roots: readonly RootOptions[] },
): Promise<ReadonlyMap<string, boolean>> {
  const approved = new Map<string, boolean>()
  if (approvals.length === 0) return approved
  const waiting = packs.filter(({ trust }) => !isTrusted(trust))
  const byFolder = Map.groupBy(waiting, (pack) => packFolder(pack, roots))
  for (const { path, digest } of approvals) {
    for (const pack of byFolder.get(realPath(path) ?? '') ?? []) {
      const files = await library.files(pack)
      const isSame = (await contentDigestOf(files, library.digest(pack, files))) === digest
      approved.set(pack.id, isSame || approved.get(pack.id) === true)
    }
  }
  return approved
}

/** Where a pack really lies; undefined for one that is gone. */
export const packFolder = (
  { root, path }: { readonly root: string; readonly path: string },
  roots: readonly RootOptions[],
): string | undefined => realPath(join(roots.find(({ id }) => id === root)?.path ?? '', path))

export const realPath = (path: string): string | undefined => attempt(() => realpathSync.native(path))

/** SHA-256 over the paths and bytes of every file of a pack, in hex; undefined when one of them cannot be read. */
export async function contentDigestOf(
  files: PackFiles,
  digestOf: (file: PackFile) => Promise<string | Diagnostic> = ({ path }) => files.digest(path),
): Promise<string | undefined> {
  const digests: { path: string; digest: string }[] = []
  for (const file of (await files.list()).files) {
    const digest = await digestOf(file)
    if (typeof digest !== 'string') return undefined
    digests.push({ path: file.path, digest })
  }
  return objectHash(digests).slice('sha256:'.length)
}
