RanDialect ; what InterSystems IRIS has of its own, for the routines that every M database runs
 ;
 ; Beside each call stands the KEY of its page at docs.intersystems.com/irislatest/csp/docbook/DocBook.UI.Page.cls?KEY=...,
 ; or its class at docs.intersystems.com/irislatest/csp/documatic/%25CSP.Documatic.cls?LIBRARY=%25SYS&CLASSNAME=...
 quit
 ;
open ; standard input and output: no echo, lines are not broken (KEY=GIOD_terminals). The prompt ends with a line.
 use $principal:(0:"+S")
 write !
 quit
 ;
clock() ; text of an expression: microseconds of 16 digits, from seconds with a fraction (KEY=RCOS_vzhorolog)
 quit "$zhorolog*1000000\1+1000000000000000"
 ;
begin(relaxed) ; text that begins a transaction; the process has its rule for commits (KEY=RCOS_ctstart)
 quit "tstart "
 ;
restarted(assignment) ; transactions are never restarted
 quit ""
 ;
durable(yes) ; a commit waits for the journal, or does not (CLASSNAME=%SYSTEM.Process)
 new before
 set before=##class(%SYSTEM.Process).SynchCommit(yes)
 quit
 ;
unjournaled ; this process fills without journal: what it makes is not measured (KEY=GCDI_journal)
 do DISABLE^%NOJRN
 quit
 ;
counts() ; what this process did, as IRIS counts it (CLASSNAME=%SYS.ProcessQuery)
 new process
 set process=##class(%SYS.ProcessQuery).%OpenId($job)
 quit "SET:"_process.GlobalUpdates_",JRN:"_process.JournalEntries
 ;
fault ; an error, or the end of the input (KEY=RCOS_vetrap, KEY=RCOS_vzerror, KEY=RERR_system)
 new status set status=$zerror
 set $etrap="halt"
 if $tlevel trollback
 if status'["<ENDOFFILE>" use $principal write ! write "! ",status,!
 halt
