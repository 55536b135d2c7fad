/** A map that forgets what was not set or asked for in a while: it holds at least the newest `sizeMin`, at most twice that. */
export interface Recent<K, V> {
  get(key: K): V | undefined
  set(key: K, value: V): void
  delete(key: K): void
}

/** Two halves, of which the older is dropped whole: taking the oldest entry out each time gets slower and slower. */
export function recent<K, V>(sizeMin: number): Recent<K, V> {
  let [newer, older] = [new Map<K, V>(), new Map<K, V>()]
  const set = (key: K, value: V): void => {
    if (newer.size >= sizeMin) [newer, older] = [new Map(), newer]
    newer.set(key, value)
  }
  return {
    set,
    get: (key) => {
      const found = newer.get(key)
      if (found !== undefined) return found
      const kept = older.get(key)
      if (kept !== undefined) set(key, kept)
      return kept
    },
    delete: (key) => {
      newer.delete(key)
      older.delete(key)
    },
  }
}
