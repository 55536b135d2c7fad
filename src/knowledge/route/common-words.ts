import { stemEnglish } from './english.ts'

/**
 * How much of its rarity a term keeps, from 0 to 1. A catalog is small: a word that one description happens to have looks
 * rare there though everybody uses it, and would win questions that are about something else.
 */
export const keepOf = (term: string): number => keeps.get(term) ?? 1

/** Whether the term says little about what a text is about. */
export const isEveryday = (term: string): boolean => keepOf(term) < 0.6

// Words of technical questions and descriptions, whatever they are about: in nearly all, in many, in some.
const everywhere = `
  affect answer approach base best case common compare comprehensive configuration consider context cover custom deep
  describe description differ difference different discuss documentation enable example expert expertise explain
  feature function guide handle help implement implementation implication improve include information interact
  introduction key knowledge limitation manage method model multi multiple need offs pack pattern performance practice
  primary problem provide purpose question relationship role scenario specific support system term topic trade
  trade-offs type understand versus way work`

const often = `
  across advanced advantage allow api application apply architecture available avoid basic behavior behaviour benefit
  build calling capability cause change check choose code community complex complexity component concept condition
  consequence constraint control correct create critical data deal decide decision default define deploy design detail
  determine directly effect effective efficient element ensure error essential evaluate execution exist explicit fail
  failure field file find framework fundamental general happen important indicate input integrate internal introduce
  issue language large level library main maintain make mean mechanism mitigate mode modern necessary nested new
  object occur official operation operator optimal optimize option order output overview parameter part particular
  perform potential prefer prevent process production program proper property recommend reference regard relate
  require result return risk rule run runtime sdk security set single situation solve standard start state step
  strategy structure suitable task technique technology three time tool traditional two typical update usage user
  value variable various version workflow write`

const sometimes = `
  access account action add argument async authentication batch block boundary bounds break bug cache class cleanup
  client cloud collect combine command compatibility compile compiler compute concurrency concurrent conditional
  conflict connect consistency contain content conversion copy core cost count database debug declaration degrade
  delete dependency detect development directive distributed document domain dynamic edge embed embedding endpoint
  enforce engine entry environment event exception expose expression extend extension external factor filter fix flag
  flow form format generate generic group guarantee hook host identify impact import index infer initialize inject
  instance instruction interface invoke isolate item job keyword lifecycle list load local lock log long loop loss map
  match maximum measure memory message metadata metric middleware migrate minimum module monitor native network node
  non number overhead package parse pass path pipeline pitfall plan platform plugin policy pool port principle project
  prompt propagate protect protocol provider quality query range rate read real reason record recovery register
  release replace repository request resource response retrieve retry reuse safe safety sample scale schema scope
  script search secure select send separate sequence server service session share side signature simple size solution
  source space split stack static status storage store stream string struct style sync synchronous syntax table tag
  target template test text thread throughput timeout token track transform trigger tuning turn unit validate vector
  view visible web window wrapper`

const keeps: ReadonlyMap<string, number> = new Map([
  ...grade(sometimes, 0.8),
  ...grade(often, 0.55),
  ...grade(everywhere, 0.25),
])

function grade(words: string, keep: number): readonly (readonly [string, number])[] {
  return words
    .trim()
    .split(/\s+/)
    .map((word) => [stemEnglish(word), keep] as const)
}
