import { chmod, lstat } from 'node:fs/promises'
import { DatabaseSync } from 'node:sqlite'
import { setTimeout as sleep } from 'node:timers/promises'
import { Failure } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import { systemCode } from './trouble.ts'

const retryMs = 5
const busyErrcode = 5

/**
 * Does the work while no other holder of this lock file does, in this process or another. The lock is the system's
 * own, taken through SQLite on an empty file: it ends with its process, so no process has to judge whether a lock is
 * stale. Nothing else may open the file: closing it anywhere in a process would drop that process's lock.
 */
export async function locked<T>(path: string, work: () => Promise<T>): Promise<T> {
  const holder = await acquire(path)
  try {
    return await work()
  } finally {
    holder.close()
  }
}

async function acquire(path: string): Promise<DatabaseSync> {
  if (!(await free(path))) throw unavailable()
  for (let waitedMs = 0; waitedMs <= limits.storeWaitMs; waitedMs += retryMs) {
    const holder = tryAcquire(path)
    if (holder !== undefined) {
      await chmod(path, 0o600)
      return holder
    }
    await sleep(retryMs)
  }
  throw new Failure('file.busy', 'another process is writing to this file root', {}, 'try again in a moment')
}

function tryAcquire(path: string): DatabaseSync | undefined {
  const holder = new DatabaseSync(path, { timeout: 0, open: false })
  try {
    holder.open()
    holder.exec('PRAGMA journal_mode = MEMORY; BEGIN EXCLUSIVE')
    return holder
  } catch (error) {
    if (holder.isOpen) holder.close()
    if (error instanceof Error && 'errcode' in error && error.errcode === busyErrcode) return undefined
    throw unavailable()
  }
}

/** SQLite would follow a link, so only a regular file or nothing may stand there. */
async function free(path: string): Promise<boolean> {
  try {
    return (await lstat(path)).isFile()
  } catch (error) {
    return systemCode(error) === 'ENOENT'
  }
}

const unavailable = (): Failure => new Failure('file.unavailable', 'the lock of this file root cannot be taken')
