import { Failure, quote } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'

const known: Readonly<Record<string, readonly [FailureCode, string]>> = {
  ENOENT: ['file.not_found', 'does not exist'],
  ENOTDIR: ['file.not_found', 'does not exist'],
  EEXIST: ['file.exists', 'already exists'],
  ELOOP: ['file.outside_root', 'is a link, and links are not followed'],
  EISDIR: ['file.invalid', 'is not a regular file'],
  ENXIO: ['file.invalid', 'is not a regular file'],
  ENAMETOOLONG: ['file.invalid', 'has too long a name'],
}

/** Does the work; what the system says on the way is told with this relative path in place of the host's. */
export async function telling<T>(path: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    const errno = systemCode(error)
    throw errno === undefined ? error : refusal(errno, path)
  }
}

/** The failure that answers a system error. */
export function refusal(errno: string, path: string): Failure {
  const [code, what] = known[errno] ?? ['file.unavailable', `cannot be used (${errno})`]
  return new Failure(code, `${quote(path)} ${what}`, { path })
}

/** For what may be missing; every other failure stays one. */
export function unlessMissing(error: unknown): undefined {
  if (error instanceof Failure && error.code === 'file.not_found') return undefined
  throw error
}

/** The name of a system error, such as `ENOENT`. */
export function systemCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error) || !('code' in error)) return undefined
  return typeof error.code === 'string' ? error.code : undefined
}
