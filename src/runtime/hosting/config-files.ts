import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'
import { type Upstream, upstream as upstreamShape } from '../../model/config/upstream.ts'
import { parseAs } from '../../model/parse.ts'
import { type Policy, policy as policyShape } from '../../model/policy.ts'

/** A file of the user: its path, and its name as the user wrote it. */
export interface NamedFile {
  readonly path: string
  readonly name: string
}

/** Reads the JSON of a file; a failure names the file and the place in it. */
function readNamed<S extends Parameters<typeof parseAs>[0]>(
  shape: S,
  noun: 'policy' | 'upstream',
  file: NamedFile,
  bytesMax: number,
) {
  const code = `${noun}.invalid` as const
  const bytes = readBytes(file, code)
  try {
    return parseAs(shape, readJson(bytes, { bytesMax }), noun)
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(code, `${quote(file.name)}: ${error.message}`, error.data, error.help)
  }
}

/** The bytes of a file; a failure of this code names the file. */
export function readBytes({ path, name }: NamedFile, code: 'policy.invalid' | 'upstream.invalid' | 'manifest.invalid') {
  try {
    return readFileSync(path)
  } catch (error) {
    throw new Failure(code, `${quote(name)}: the file cannot be read: ${(error as NodeJS.ErrnoException).code}`)
  }
}

/** The policy that a file describes, or `policy.invalid`. */
export const readPolicy = (file: NamedFile): Policy => readNamed(policyShape, 'policy', file, limits.jsonBytesMax)

/** The file itself, or all with such a name of its folder, in order. */
export function filesOf({ path, name }: NamedFile, wanted: RegExp): readonly NamedFile[] {
  if (!statSync(path, { throwIfNoEntry: false })?.isDirectory()) return [{ path, name }]
  return readdirSync(path)
    .filter((file) => wanted.test(file))
    .toSorted()
    .map((file) => ({ path: join(path, file), name: `${name}/${file}` }))
}

/** The files behind an entry of `upstreams`. A folder may be made later. */
export const upstreamFiles = (file: NamedFile): readonly NamedFile[] =>
  existsSync(file.path) || file.path.endsWith('.json') ? filesOf(file, /\.json$/) : []

/** Where imports are written, beside the configuration. The first one makes it. */
export const importFolder = 'upstreams'

/** What is to be said of listed folders that are not there, and that no import will make. */
export const missingFolders = (upstreams: readonly (Upstream | NamedFile)[]): readonly string[] =>
  upstreams.flatMap((each) => {
    if (!('path' in each) || each.path.endsWith('.json') || each.name === importFolder || existsSync(each.path))
      return []
    return [`the folder ${quote(each.name)} that \`upstreams\` lists is not there`]
  })

/** The upstream that a file describes, or `upstream.invalid`. */
export const readUpstream = (file: NamedFile): Upstream =>
  readNamed(upstreamShape, 'upstream', file, limits.upstreamFileBytesMax)
