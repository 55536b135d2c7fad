/** Places that are taken by name. */
export interface Places {
  /** Takes one more. False if this name has as many as one may have. */
  take(name: string): boolean
  leave(name: string): void
}

/** Counts the places of each name, and forgets a name that has none. */
export function openPlaces(perNameMax: number): Places {
  const counts = new Map<string, number>()
  return {
    take: (name) => {
      const count = counts.get(name) ?? 0
      if (count >= perNameMax) return false
      counts.set(name, count + 1)
      return true
    },
    leave: (name) => {
      const count = (counts.get(name) ?? 0) - 1
      if (count > 0) counts.set(name, count)
      else counts.delete(name)
    },
  }
}
