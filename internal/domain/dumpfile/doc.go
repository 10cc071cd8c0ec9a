// Package dumpfile has the rows of a dump and their rules. A dump moves the memories of a workspace between databases.
package dumpfile
