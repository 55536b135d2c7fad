/**
 * What the work comes to; or what `late` says, once so many milliseconds have passed without its end. `aside` is work that
 * the process does not stay for.
 */
export async function within<T>(work: T | Promise<T>, ms: number, late: () => T, { aside = false } = {}): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const over = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms)
    if (aside) timer.unref()
  })
  try {
    return await Promise.race([work, over.then(late)])
  } finally {
    clearTimeout(timer)
  }
}
