/** Decides whether a commit waits one turn of the event loop for company. */
export interface Pace {
  /** True if what waits in a lane may go at once. */
  mayGo(lane: string): boolean
  /** To be told how many commits went together, and whether they had waited. */
  took(lane: string, commits: number, waited: boolean): void
}

const aloneMax = 16

interface Lane {
  /** How many may go at once within one turn: none where they come in company, more the longer they come alone. */
  allowed: number
  gone: number
}

/**
 * Waiting pays where others are about to come, and costs where nobody is. A lane whose commits waited in vain lets more
 * of them go at once, but never all: a turn of the event loop must come round for everything else in the process.
 */
export function makePace(): Pace {
  const lanes = new Map<string, Lane>()
  const laneOf = (name: string): Lane => {
    const lane = lanes.get(name) ?? { allowed: 1, gone: 0 }
    lanes.set(name, lane)
    return lane
  }
  return {
    mayGo: (name) => {
      const lane = laneOf(name)
      if (lane.gone >= lane.allowed) return false
      // What this turn has seen is forgotten when the next begins, and with it a lane that nobody uses.
      if (lane.gone === 0) setImmediate(() => nextTurn(lanes, name, lane))
      lane.gone++
      return true
    },
    took: (name, commits, waited) => {
      const lane = laneOf(name)
      if (commits > 1) lane.allowed = 0
      else if (waited) lane.allowed = Math.min(aloneMax, Math.max(1, lane.allowed * 2))
    },
  }
}

const lanesMax = 1024

function nextTurn(lanes: Map<string, Lane>, name: string, lane: Lane): void {
  lane.gone = 0
  if (lanes.size > lanesMax) lanes.delete(name)
}
