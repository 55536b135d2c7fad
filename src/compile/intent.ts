import { Failure, quote } from '../base/failure.ts'
import type { FailureCode } from '../base/failure-codes.ts'
import type { DecisionSpec, Intent, TaskTemplate } from '../model/contract/pack.ts'
import type { MergedPacks } from './merge.ts'

interface Asked {
  readonly intent: string
  readonly channel?: string | undefined
  readonly locale?: string | undefined
}

export interface KnownIntent {
  readonly intent: Intent
  readonly templates: readonly TaskTemplate[]
  readonly specs: readonly DecisionSpec[]
}

/** The catalog's entry for the intent of a request, with the templates and specs it may come to. */
export function checkIntent(packs: MergedPacks, { request }: { readonly request: Asked }): KnownIntent {
  const { channel, locale } = request
  const intent = packs.intents.find(({ intent_id }) => intent_id === request.intent)
  if (intent === undefined) throw refused('intent.unknown', request.intent, 'is in no catalog of the request')
  const { accepted_channels, locale_support, eligible_task_templates } = intent
  if (channel !== undefined && !accepted_channels.includes(channel))
    throw refused('intent.channel_unsupported', request.intent, `is not for channel ${quote(channel)}`)
  if (locale !== undefined && !locale_support.includes(locale))
    throw refused('intent.locale_unsupported', request.intent, `is not for locale ${quote(locale)}`)
  const templates = packs.templates.filter(({ template_id }) => eligible_task_templates.includes(template_id))
  const keys = templates.flatMap(({ decision_keys }) => decision_keys)
  return { intent, templates, specs: packs.specs.filter(({ decision_key }) => keys.includes(decision_key)) }
}

const refused = (code: FailureCode, intent: string, why: string): Failure =>
  new Failure(code, `intent ${quote(intent)} ${why}`, { intent })
