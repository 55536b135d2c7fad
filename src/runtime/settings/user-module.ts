import { readFileSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { fileURLToPath, pathToFileURL } from 'node:url'

/**
 * Imports a module of the user. One that was imported before is the same again, unless it is to be read afresh: then it
 * and what it imports are evaluated anew. `ambit` is found from it wherever it lies: where no package of that name is
 * installed, it is this one. `files` are those that it is made of, itself first.
 */
export async function importUserModule(file: string, { fresh = false } = {}) {
  hookOnce()
  const url = pathToFileURL(file).href
  const generation = (generations.get(url) ?? -1) + (fresh || !generations.has(url) ? 1 : 0)
  generations.set(url, generation)
  const address = generation === 0 ? url : `${url}?${mark}=${generation}`
  const parts = madeOf.get(address) ?? new Set([address])
  madeOf.set(address, parts)
  const exports = (await import(address)) as Record<string, unknown>
  return { exports, files: [...parts].map((part) => fileURLToPath(part.split('?', 1)[0] ?? part)) }
}

// A module is never evaluated twice under one address, so a file that is read again needs another one.
const mark = 'ambit-generation'
const generations = new Map<string, number>()

/** By the address of each part of a user's module, all parts of that module. */
const madeOf = new Map<string, Set<string>>()

let hooked = false
function hookOnce(): void {
  if (hooked) return
  hooked = true
  registerHooks({
    resolve(specifier, context, next) {
      const found = resolveOurs(specifier, () => next(specifier, context))
      const parts = madeOf.get(context.parentURL ?? '')
      if (parts === undefined || !isUsers(found.url)) return found
      const generation = (context.parentURL ?? '').split(`?${mark}=`)[1]
      const url = generation === undefined ? found.url : `${found.url.split('?', 1)[0]}?${mark}=${generation}`
      parts.add(url)
      madeOf.set(url, parts)
      return { ...found, url }
    },
  })
}

/** Where no package of ours is installed, its names lead to this one: as it was built, or to its source. */
function resolveOurs<T extends { url: string }>(name: string, next: () => T): T | { url: string; shortCircuit: true } {
  try {
    return next()
  } catch (error) {
    const root = new URL('../../../', import.meta.url)
    const { exports } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'))
    const built = name.startsWith('ambit') && exports[name.replace('ambit', '.')]?.default
    if (!built) throw error
    const path = import.meta.url.endsWith('.ts') ? built.replace('/dist/', '/src/').replace(/js$/, 'ts') : built
    return { url: new URL(path, root).href, shortCircuit: true }
  }
}

const ownFolder = new URL('../../', import.meta.url).href
const isUsers = (url: string): boolean =>
  url.startsWith('file:') && !url.includes('/node_modules/') && !url.startsWith(ownFolder)
