/** The result of the work, or that of `late` after so many milliseconds; the process does not stay for work `aside`. */
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
