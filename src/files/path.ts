import { Failure, quote } from '../base/failure.ts'

/** Names with this prefix belong to the root itself: files half written, and the lock. Callers cannot reach them. */
export const reservedPrefix = '.ambit-'

/** The segments of a path that stays below its root as it is spelled; links are looked at when it is opened. */
export function segmentsOf(path: string): readonly string[] {
  const segments = path.split('/')
  if (!segments.every(isSegment)) {
    const help = 'name it relative to the root, with `/` between segments, without `.`, `..` or empty segments'
    throw new Failure('file.outside_root', `${quote(path)} is not a path inside the file root`, { path }, help)
  }
  return segments
}

/** Whether a name can be a segment of a path. */
export const isSegment = (name: string): boolean =>
  !['', '.', '..'].includes(name) && name.isWellFormed() && !/[\0\\/]/.test(name) && !name.startsWith(reservedPrefix)
