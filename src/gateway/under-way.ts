/** Work that is under way, and when there is none. */
export function openUnderWay() {
  const waiting: (() => void)[] = []
  let count = 0
  return {
    count: async <T>(work: () => T | Promise<T>): Promise<T> => {
      count += 1
      try {
        return await work()
      } finally {
        count -= 1
        if (count === 0) for (const resolve of waiting.splice(0)) resolve()
      }
    },
    isNone: (): boolean => count === 0,
    none: () => new Promise<void>((resolve) => (count === 0 ? resolve() : void waiting.push(resolve))),
  }
}
