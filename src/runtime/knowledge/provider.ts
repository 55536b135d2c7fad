import { recent } from '../../base/recent.ts'
import type { KnowledgeSource } from '../../resources/knowledge.ts'
import type { Knowledge } from './knowledge.ts'

/** Packs for the runs of a host. A session keeps its view, which knows what is unchanged and what was opened. */
export function knowledgeSource(knowledge: Knowledge): KnowledgeSource {
  const views = recent<string, Knowledge>(viewsKeptMin)
  return {
    view: ({ grants, above }, session) => {
      const key = JSON.stringify([session, grants, above])
      const view = views.get(key) ?? knowledge.under(grants, above)
      views.set(key, view)
      return view
    },
  }
}

const viewsKeptMin = 64
