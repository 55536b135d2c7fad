/** One request among those being answered. */
export interface Crowd {
  /** True if there were too many already when it came. */
  readonly isFull: boolean
  /** It is being worked on until this has ended, though it may be answered before. */
  stays(work: Promise<unknown>): void
  /** It has been answered. */
  left(): void
}

/** Counts the requests that are being answered, up to a limit. */
export function openCrowd(atOnceMax: number): { readonly size: () => number; entered(): Crowd } {
  let size = 0
  const leave = (): void => {
    size--
  }
  return {
    size: () => size,
    entered: () => {
      const isFull = size >= atOnceMax
      size++
      let staying: Promise<unknown> | undefined
      return {
        isFull,
        stays: (work) => {
          staying = work
        },
        left: () => {
          if (staying === undefined) leave()
          else void staying.then(leave, leave)
        },
      }
    },
  }
}
