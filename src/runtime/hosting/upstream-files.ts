import { existsSync, readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { quote } from '../../base/failure.ts'
import { limits } from '../../base/limits.ts'
import { type Upstream, upstream as upstreamShape } from '../../model/config/upstream.ts'
import { parseAs } from '../../model/parse.ts'
import { type NamedFile, readNamed } from './named-file.ts'

/**
 * The files behind what the configuration lists: one of an upstream, or a folder of them, in the order of their names. A
 * folder may be made later.
 */
export function filesOf({ path, name }: NamedFile): readonly NamedFile[] {
  const found = statSync(path, { throwIfNoEntry: false })
  if (found === undefined && !path.endsWith('.json')) return []
  if (!found?.isDirectory()) return [{ path, name }]
  return readdirSync(path)
    .filter((file) => file.endsWith('.json'))
    .toSorted()
    .map((file) => ({ path: join(path, file), name: `${name}/${file}` }))
}

/** Where imports are written, beside the configuration. The first one makes it. */
export const importFolder = 'upstreams'

/** The names of listed folders that are not there, and that no import will make. */
export const missingFolders = (upstreams: readonly (Upstream | NamedFile)[]): readonly string[] =>
  upstreams.flatMap((each) => ('path' in each && isMissing(each) ? [each.name] : []))

const isMissing = ({ path, name }: NamedFile): boolean =>
  !path.endsWith('.json') && name !== importFolder && !existsSync(path)

export const noFolder = (name: string): string => `the folder ${quote(name)} that \`upstreams\` lists is not there`

/** The upstream that a file describes; otherwise `upstream.invalid`, which names the file and the place in it. */
export const readUpstream = (file: NamedFile): Upstream =>
  readNamed(file, 'upstream.invalid', (json) => parseAs(upstreamShape, json, 'upstream'), limits.upstreamFileBytesMax)
