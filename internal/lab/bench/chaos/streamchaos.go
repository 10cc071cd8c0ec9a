// Package streamchaos kills the worker while clients read streams of the OpenAI-compatible API. Each
// client must get the stored reply, or an error after which the same request returns the stored reply.
//
// Half of the requests get the same text at each attempt of the model, and half another one.

package chaos
