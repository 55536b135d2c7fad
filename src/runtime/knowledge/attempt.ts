/** What the work answers; undefined where it fails, for whatever reason. */
export function attempt<T>(work: () => T): T | undefined {
  try {
    return work()
  } catch {
    return undefined
  }
}
