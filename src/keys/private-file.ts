import type { FailureCode } from '../base/codes.ts'
import { Failure, quote } from '../base/failure.ts'
import type { FileRoot } from '../files/root.ts'

/** The content of a file that only its owner can reach, or undefined when there is none. */
export async function readPrivate(files: FileRoot, path: string, bytesMax: number): Promise<Buffer | undefined> {
  try {
    const mode = await files.mode(path)
    if ((mode & 0o077) !== 0) throw open(path)
    return await files.read(path, { bytesMax })
  } catch (error) {
    if (failedWith(error, 'file.not_found')) return undefined
    throw error
  }
}

export const failedWith = (error: unknown, code: FailureCode): boolean =>
  error instanceof Failure && error.code === code

const open = (path: string): Failure =>
  new Failure('key.permissions', `${quote(path)} is open to others than its owner: run \`chmod 600\` on it`, { path })
