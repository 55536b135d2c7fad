/** The place of one request among those being answered. */
export interface Place {
  /** Says whose it is. False if they have as many as one caller may have. */
  isFor(name: string): boolean
  /** The request is being worked on until this has ended, though it may be answered before. */
  stays(work: Promise<unknown>): void
  /** It has been answered. */
  left(): void
}

export interface Crowd {
  size(): number
  /** Undefined if every place is taken. */
  enter(): Place | undefined
}

/** What one caller may take of all places: the others are never without any. */
const share = 3 / 4

/** Counts the requests that are being answered, up to a limit. */
export function openCrowd(atOnceMax: number): Crowd {
  const perCallerMax = Math.ceil(atOnceMax * share)
  const counts = new Map<string, number>()
  let size = 0
  const add = (name: string, more: 1 | -1): void => {
    const count = (counts.get(name) ?? 0) + more
    if (count === 0) counts.delete(name)
    else counts.set(name, count)
  }
  return {
    size: () => size,
    enter: () => {
      if (size >= atOnceMax) return undefined
      size++
      let owner: string | undefined
      const works: Promise<unknown>[] = []
      const leave = (): void => {
        size--
        if (owner !== undefined) add(owner, -1)
      }
      return {
        isFor: (name) => {
          if ((counts.get(name) ?? 0) >= perCallerMax) return false
          owner = name
          add(name, 1)
          return true
        },
        stays: (work) => void works.push(work),
        left: () => {
          if (works.length === 0) leave()
          else void Promise.allSettled(works).then(leave)
        },
      }
    },
  }
}
