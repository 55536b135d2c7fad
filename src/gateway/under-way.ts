/** Work that is under way, and when there is none. */
export interface UnderWay {
  count<T>(work: () => T | Promise<T>): Promise<T>
  /** Resolves when there is none. */
  none(): Promise<void>
  isNone(): boolean
}

export function openUnderWay(): UnderWay {
  const waiting: (() => void)[] = []
  let count = 0
  return {
    count: async (work) => {
      count += 1
      try {
        return await work()
      } finally {
        count -= 1
        if (count === 0) for (const resolve of waiting.splice(0)) resolve()
      }
    },
    isNone: () => count === 0,
    none: () => new Promise((resolve) => (count === 0 ? resolve() : void waiting.push(resolve))),
  }
}
