import { openPlaces } from '../base/places.ts'

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

/** What one caller may take of all places: where there are several, the others are never without any. */
const share = 3 / 4

/** Counts the requests that are being answered, up to a limit. */
export function openCrowd(atOnceMax: number): Crowd {
  const places = openPlaces(Math.max(1, Math.floor(atOnceMax * share)))
  let size = 0
  return {
    size: () => size,
    enter: () => {
      if (size >= atOnceMax) return undefined
      size++
      let owner: string | undefined
      const works: Promise<unknown>[] = []
      const leave = (): void => {
        size--
        if (owner !== undefined) places.leave(owner)
      }
      return {
        isFor: (name) => {
          const isIn = places.take(name)
          if (isIn) owner = name
          return isIn
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
