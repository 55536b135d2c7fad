import { objectHash } from '../../base/hash.ts'
import type { Diagnostic } from '../../knowledge/diagnostic.ts'
import type { Pack } from '../../knowledge/pack.ts'
import type { Library } from './library.ts'
import type { PackFile } from './list-files.ts'
import { openPackFiles, type PackFiles } from './pack-files.ts'
import type { RootOptions } from './roots.ts'
import type { PackApproval } from './settings.ts'

/** The packs that a person has approved. An approval with a digest lapses when a file of the pack changes. */
export async function approvedIds(
  approvals: readonly PackApproval[],
  packs: readonly Pack[],
  library: Library,
): Promise<ReadonlySet<string>> {
  const approved = new Set<string>()
  for (const { id, digest } of approvals) {
    const pack = packs.find((one) => one.id === id)
    if (pack === undefined) continue
    if (digest === undefined || digest === (await contentDigest(pack, library))) approved.add(id)
  }
  return approved
}

async function contentDigest(pack: Pack, library: Library): Promise<string | undefined> {
  const files = await library.files(pack)
  return digestOf(files, (file) => library.of(pack, files, file, 'digest', (_, digest) => digest))
}

/** SHA-256 over the paths and bytes of every file of a pack, in hex; undefined when one of them cannot be read. */
export async function contentDigestOf(root: RootOptions, path: string): Promise<string | undefined> {
  const files = await openPackFiles(root, { id: path, path })
  return digestOf(files, async (file) => {
    const read = await files.read(file.path)
    return 'code' in read ? read : read.digest
  })
}

async function digestOf(
  files: PackFiles,
  read: (file: PackFile) => Promise<string | Diagnostic>,
): Promise<string | undefined> {
  const { files: listed } = await files.list()
  const digests: { path: string; digest: string }[] = []
  for (const file of listed) {
    const digest = await read(file)
    if (typeof digest !== 'string') return undefined
    digests.push({ path: file.path, digest })
  }
  return objectHash(digests).slice('sha256:'.length)
}
