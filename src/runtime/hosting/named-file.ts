import { readFileSync } from 'node:fs'
import type { Json } from '../../base/canonical.ts'
import { Failure, quote } from '../../base/failure.ts'
import { readJson } from '../../base/json.ts'
import { limits } from '../../base/limits.ts'

/** A file of the user: where it lies, and what the user calls it. */
export interface NamedFile {
  readonly path: string
  readonly name: string
}

type Code = 'policy.invalid' | 'upstream.invalid'

/** What the JSON of a file is read as; otherwise a failure of this code, which names the file and the place in it. */
export function readNamed<T>(file: NamedFile, code: Code, read: (json: Json) => T, bytesMax = limits.jsonBytesMax): T {
  const bytes = bytesOf(file, code)
  try {
    return read(readJson(bytes, { bytesMax }))
  } catch (error) {
    if (!(error instanceof Failure)) throw error
    throw new Failure(code, `${quote(file.name)}: ${error.message}`, error.data, error.help)
  }
}

/** The bytes of a file; otherwise a failure of this code, which names the file. */
export function bytesOf({ path, name }: NamedFile, code: Code): Uint8Array {
  try {
    return readFileSync(path)
  } catch (error) {
    const { code: why } = error as NodeJS.ErrnoException
    throw new Failure(code, `${quote(name)}: the file cannot be read: ${why}`)
  }
}
