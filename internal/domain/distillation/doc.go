// Package distillation has the rows of distillations: their requests, tasks, packages and commits.
package distillation
