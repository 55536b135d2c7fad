import { limits } from '../base/limits.ts'
import type { Page, PageOptions } from '../storage/page.ts'

/** The items of a list that comes in pages, each page when it is needed. */
export async function* eachItem<T>(read: (options: PageOptions) => Promise<Page<T>>): AsyncGenerator<T, void> {
  for (let page = await read({ limit: limits.pageRowsMax }); ; ) {
    yield* page.items
    if (page.next === undefined) return
    page = await read({ limit: limits.pageRowsMax, cursor: page.next })
  }
}

/** The whole of a list that comes in pages. */
export async function wholeList<T>(read: Parameters<typeof eachItem<T>>[0]): Promise<readonly T[]> {
  const items: T[] = []
  for await (const item of eachItem(read)) items.push(item)
  return items
}

/** A page under the name of what it lists, as an operation answers it. */
export const listed = <Name extends string, T>(name: Name, { items, ...next }: Page<T>) =>
  ({ [name]: [...items], ...next }) as { readonly [N in Name]: T[] } & { readonly next?: string }
