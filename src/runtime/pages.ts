import { limits } from '../base/limits.ts'
import type { Page, PageOptions } from '../storage/page.ts'

/** The whole of a list that comes in pages. */
export async function wholeList<T>(read: (options: PageOptions) => Promise<Page<T>>): Promise<readonly T[]> {
  const items: T[] = []
  for (let page = await read({ limit: limits.pageRowsMax }); ; ) {
    items.push(...page.items)
    if (page.next === undefined) return items
    page = await read({ limit: limits.pageRowsMax, cursor: page.next })
  }
}
