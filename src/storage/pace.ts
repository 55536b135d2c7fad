/** Decides whether the next commit of a lane waits one turn of the event loop for company. */
export interface Pace {
  /** True if what waits may go at once. */
  mayGo(): boolean
  /** To be told how many commits went together, and whether they had waited. */
  took(commits: number, waited: boolean): void
}

const aloneMax = 16

/**
 * Waiting pays where others are about to come, and costs where nobody is. A lane whose commits waited in vain lets more
 * of them go at once, but never all: a turn of the event loop must come round for everything else in the process.
 */
export function makePace(): Pace {
  // How many may go at once within one turn: none where they come in company, more the longer they come alone.
  let allowed = 1
  let gone = 0
  const nextTurn = (): void => {
    gone = 0
  }
  return {
    mayGo: () => {
      if (gone >= allowed) return false
      if (gone === 0) setImmediate(nextTurn)
      gone++
      return true
    },
    took: (commits, waited) => {
      if (commits > 1) allowed = 0
      else if (waited) allowed = Math.min(aloneMax, Math.max(1, allowed * 2))
    },
  }
}
