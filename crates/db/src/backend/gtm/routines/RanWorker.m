RanWorker ; transactions of one worker: orders come on standard input, books go to standard output
 ;
 ; The first line is the plan, its numbers parted by spaces:
 ;   worker global subscripts bytes sequence state length batch
 ; Every other line is an order: transactions microseconds hang-in-milliseconds.
 ; The answer to it are lines "tTIMETIME..." and at last ". SEQUENCE" with the last transaction that is
 ; committed. The times are microseconds of 16 digits, length+3 of them for each transaction: when it began, when its
 ; updates began (later only where it was restarted), when each update was done, when the commit was.
 ; An error is answered with "! STATUS". The end of the input ends the process; it answers ". " and GT.M's
 ; own counts of what this process did.
 ;
 new $etrap set $etrap="do fault^RanWorker"
 new line,worker,global,subscripts,bytes,sequence,state,length,batch,padding,update,record,taken,most,timed
 use $principal:(exception="do over^RanWorker":width=1048576)
 read line
 set timed=1
 do plan(line)
 ; Attaches to the database before anything is measured.
 if $data(@record)
 write ". ",$job,!
 for  read line do
 . do order($piece(line," ",1),$piece(line," ",2),$piece(line," ",3))
 . write ". ",sequence,!
 quit
 ;
plan(line) ; what the worker is told before it begins
 new i
 set worker=+$piece(line," ",1),global=+$piece(line," ",2),subscripts=+$piece(line," ",3)
 set bytes=+$piece(line," ",4),sequence=+$piece(line," ",5),state=+$piece(line," ",6)
 set length=+$piece(line," ",7),batch=+$piece(line," ",8)
 set padding="" for  quit:$length(padding)>(bytes+62)  do
 . set padding=padding_"AbCdEfGhIjKlMnOpQrStUvWxYz0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ"
 set record="^RanWorker"_worker
 ; The global stands in the text by its name: compiled once, it costs what a routine's own line costs.
 set update="for i=1:1:length set "_$$drawn_",^RanWriteGlobal"_global_"(subscript)="_$$value
 ; Text is the cheapest place for a time: putting one into an array or counting it costs twice as much.
 set:timed update=update_",times=times_$zut"
 ; What is passed on at once is one text, of a MiB at most.
 set taken=0,most=1000000\(length+3*16)
 quit
 ;
drawn() ; the next subscript, and the check of what is to stand there
 new step set step="state=state*48271#2147483647,subscript=state#subscripts+1"
 quit step_",check=base+(subscript*104729#999999937)#999999937,start=check#62"
 ;
value() ; what is written there
 quit "head_check_"":""_$extract(padding,start+1,start+room-$length(check))"
 ;
stamp ; what the values of the transaction have in common
 set base=worker*1000003+(sequence#1000000000000*7919)+(global*611953)
 set head=worker_":"_sequence_":",room=bytes-$length(head)-1
 quit
 ;
order(transactions,microseconds,hang) ; transactions until there are enough, or the next would begin too late
 new done,end,pause
 set done=0,pause=hang/1000,end=$zut+microseconds-(hang*1000)
 for  do transaction set done=done+1 do:taken=most pass quit:done'<transactions!($zut'<end)  hang:hang pause
 do pass
 quit
 ;
pass ; times that were not passed on yet: rarely, since who hears them needs a processor for that
 quit:'taken
 new line,i
 set line="t" for i=1:1:taken set line=line_taken(i)
 set taken=0
 write line,!
 quit
 ;
transaction ; one of them; what a restart undoes counts to the commit
 new base,head,room,first,begun,times,i,subscript,check,start
 set sequence=sequence+1,first=state
 set begun=$zut
 do stamp
 if batch tstart ():transactionid="BATCH"
 else  tstart ()
 set state=first,times=begun
 set:$trestart times=$zut
 xecute update
 set @record=sequence
 tcommit
 set:timed taken=taken+1,taken(taken)=begun_times_$zut
 quit
 ;
fault ; an error that is not the end of the input
 new status set status=$zstatus
 set $etrap="halt"
 if $tlevel trollback
 use $principal write "! ",status,!
 halt
 ;
gone ; nobody is there any more
 halt
 ;
over ; there are no more orders
 new counts
 set $etrap="halt"
 zshow "G":counts
 write ". ",counts("G",0),!
 halt
 ;
prove ; draws and values of a plan, as it would write them
 new $etrap set $etrap="do fault^RanWorker"
 new line,worker,global,subscripts,bytes,sequence,state,length,batch,padding,update,record,timed
 new base,head,room,i,subscript,check,start
 use $principal:(exception="do gone^RanWorker":width=1048576)
 read line
 set timed=0
 do plan(line),stamp
 set update="for i=1:1:length set "_$$drawn_" write subscript,"" "","_$$value_",!"
 xecute update
 write ".",!
 halt
 ;
bare ; transactions without taking their times: what taking them is held against
 new $etrap set $etrap="do fault^RanWorker"
 new line,worker,global,subscripts,bytes,sequence,state,length,batch,padding,update,record,taken,most,timed
 use $principal:(exception="do gone^RanWorker":width=1048576)
 read line
 set timed=0
 do plan(line)
 if $data(@record)
 write ". ",$job,!
 for  read line do
 . do order($piece(line," ",1),$piece(line," ",2),$piece(line," ",3))
 . write ". ",sequence,!
 quit
