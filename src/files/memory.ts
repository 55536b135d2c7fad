import { Failure, quote } from '../base/failure.ts'
import { limits } from '../base/limits.ts'
import type { FileRoot } from './root.ts'

/** Files that end with the process: for a store that does too. */
export function memoryRoot(): FileRoot {
  const files = new Map<string, Buffer>()
  let last: Promise<unknown> = Promise.resolve()
  const contentOf = (path: string): Buffer => {
    const found = files.get(path)
    if (found === undefined) throw new Failure('file.not_found', `${quote(path)} not found`, { path })
    return found
  }
  return Object.freeze<FileRoot>({
    read: async (path, { bytesMax = limits.fileBytesMax } = {}) => {
      const content = contentOf(path)
      if (content.length > bytesMax) throw new Failure('file.too_large', `${quote(path)} is too large`, { path })
      return Buffer.from(content)
    },
    readEnd: async (path, bytesMax) => Buffer.from(contentOf(path).subarray(-bytesMax)),
    write: async (path, bytes, { exclusive = false } = {}) => {
      if (exclusive && files.has(path)) throw new Failure('file.exists', `${quote(path)} exists already`, { path })
      files.set(path, Buffer.from(bytes))
    },
    append: async (path, line) =>
      void files.set(path, Buffer.concat([files.get(path) ?? Buffer.alloc(0), Buffer.from(`${line}\n`)])),
    list: async () => [...files.keys()].sort(),
    remove: async (path) => {
      contentOf(path)
      files.delete(path)
    },
    mode: async (path) => {
      contentOf(path)
      return 0o600
    },
    exclusive: (work) => {
      const done = last.then(work)
      last = done.catch(() => undefined)
      return done
    },
  })
}
