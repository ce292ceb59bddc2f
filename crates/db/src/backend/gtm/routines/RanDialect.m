RanDialect ; what GT.M has of its own, for the routines that every M database runs
 quit
 ;
open ; standard input and output: the end of the input ends the process, lines are not broken
 use $principal:(exception="do gone^RanDialect":width=1048576)
 quit
 ;
clock() ; text of an expression: microseconds, of 16 digits
 quit "$zut"
 ;
begin(relaxed) ; text that begins a transaction; a relaxed one does not wait for the journal
 quit $select(relaxed:"tstart ():transactionid=""BATCH""",1:"tstart ()")
 ;
restarted(assignment) ; text that makes the assignment if the transaction was restarted
 quit "set:$trestart "_assignment
 ;
durable(yes) ; every transaction says it for itself
 quit
 ;
unjournaled ; globals are loaded by a program of its own
 quit
 ;
counts() ; what this process did, as GT.M counts it
 new counts
 zshow "G":counts
 quit counts("G",0)
 ;
fault ; an error that is not the end of the input
 new status set status=$zstatus
 set $etrap="halt"
 if $tlevel trollback
 use $principal write:$x ! write "! ",status,!
 halt
 ;
gone ; nobody is there any more
 halt
