// Package tokenbench counts the tokens that distillations send to models. The steps of the service run on a real
// Postgres with a scripted model behind an HTTP endpoint. The endpoint counts tokens like the tokenizers of current
// models, and caches exactly the prefixes that requests mark.
//
// Each conversation is distilled twice: with an endpoint that caches nothing, and with one that caches. T is the
// number of tokens of the raw transcript. The goals are those of the design: without a cache at most 2.5 T + 6,000
// tokens, with a cache at most 2.0 T + 6,000 weighted by cost, and no request above three quarters of the context.

package speed
