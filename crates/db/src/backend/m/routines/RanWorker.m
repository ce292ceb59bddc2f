RanWorker ; transactions of one worker: orders come on standard input, answers go to standard output
 ;
 ; The text is the same for every M database. The routine RanDialect has what differs between them.
 ;
 ; The first line is the plan, its numbers parted by spaces:
 ;   worker global subscripts bytes sequence state length relaxed
 ; relaxed is 1 if commits need not wait for the journal. Every other line is an order: transactions microseconds.
 ; The answer to it are a line "tTIMETIME..." and a line ". SEQUENCE" with the last transaction that is
 ; committed. The times are microseconds of 16 digits, length+3 of them for each transaction: when it began, when its
 ; updates began (later only where it was restarted), when each update was done, when the commit was.
 ; The line "counts" is answered with ". " and the database's own counts of what this process did. An error is answered
 ; with "! STATUS". The end of the input ends the process.
 ;
 new $etrap set $etrap="do fault^RanDialect"
 new timed set timed=1
 do serve
 quit
 ;
bare ; transactions without taking their times: what taking them is held against
 new $etrap set $etrap="do fault^RanDialect"
 new timed set timed=0
 do serve
 quit
 ;
serve ; reads the plan, then an order at a time
 new line,worker,global,subscripts,bytes,sequence,state,length,relaxed,padding,update,rest,transaction,taken
 do open^RanDialect
 read line
 do plan(line)
 do durable^RanDialect('relaxed)
 ; Attaches to the database before anything is measured.
 if $data(@("^RanWorker"_worker))
 write ". ",$job,!
 for  read line do
 . if line="counts" write ". ",$$counts^RanDialect,! quit
 . do order($piece(line," ",1),$piece(line," ",2))
 . write ". ",sequence,!
 quit
 ;
plan(line) ; what the worker is told before it begins
 new clock
 set worker=+$piece(line," ",1),global=+$piece(line," ",2),subscripts=+$piece(line," ",3)
 set bytes=+$piece(line," ",4),sequence=+$piece(line," ",5),state=+$piece(line," ",6)
 set length=+$piece(line," ",7),relaxed=+$piece(line," ",8)
 do pad
 ; Names of globals and the clock stand in the text: compiled once, it costs what a routine's own line costs.
 set clock=$$clock^RanDialect
 set update=$$updates(length\10,10,clock),rest=$$updates(length#10,1,clock)
 set transaction="set begun="_clock_" "_$$begin^RanDialect(relaxed)_" set state=first,times=begun "
 set transaction=transaction_$$restarted^RanDialect("times="_clock)_" xecute update,rest"
 set transaction=transaction_" set ^RanWorker"_worker_"=sequence tcommit  set now="_clock
 quit
 ;
pad ; letters from which values are cut
 set padding="" for  quit:$length(padding)>(bytes+62)  do
 . set padding=padding_"AbCdEfGhIjKlMnOpQrStUvWxYz0123456789aBcDeFgHiJkLmNoPqRsTuVwXyZ"
 quit
 ;
updates(rounds,number,clock) ; so many rounds of so many updates, and the time after each of them
 quit:'rounds ""
 new one,text,times,i
 set one=$$drawn_",^RanWriteGlobal"_global_"(subscript)="_$$value
 ; Text is the cheapest place for times: putting one into an array or counting it costs twice as much. All of
 ; the text is copied when something is put to it, so that those of a round are put to it together.
 set text="for i=1:1:"_rounds_" set ",times="times"
 for i=1:1:number-1 set text=text_one_"," set:timed text=text_"t"_i_"="_clock_",",times=times_"_t"_i
 set text=text_one set:timed text=text_",times="_times_"_("_clock_")"
 quit text
 ;
drawn() ; the next subscript, and the check of what is to stand there
 quit "state=state*48271#2147483647,subscript=state#subscripts+1,"_$$checked
 ;
checked() ; the check of what is to stand at a subscript
 quit "check=base+(subscript*104729#999999937)#999999937,start=check#62"
 ;
value() ; what is written there
 quit "head_check_"":""_$extract(padding,start+1,start+room-$length(check))"
 ;
stamp ; what the values of the transaction have in common
 set base=worker*1000003+(sequence#1000000000000*7919)+(global*611953)
 set head=worker_":"_sequence_":",room=bytes-$length(head)-1
 quit
 ;
order(transactions,microseconds) ; transactions until there are enough, or the next would begin too late
 new done,end,now
 xecute "set now="_$$clock^RanDialect
 set done=0,end=now+microseconds,taken="t"
 for  do transaction set done=done+1 quit:done'<transactions!(now'<end)
 write:timed taken,!
 quit
 ;
transaction ; one of them; what a restart undoes counts to the commit
 new base,head,room,first,begun,times,i,subscript,check,start,t1,t2,t3,t4,t5,t6,t7,t8,t9
 set sequence=sequence+1,first=state
 do stamp
 xecute transaction
 quit:'timed
 set taken=taken_begun_times_now
 ; The pipe has room until the order ends. A line may be longer than the database lets it be.
 if $length(taken)>3000 write taken set taken="",$x=1
 quit
 ;
prove ; draws and values of a plan, as it would write them
 new $etrap set $etrap="do fault^RanDialect"
 new line,timed,worker,global,subscripts,bytes,sequence,state,length,relaxed,padding,update,rest,transaction
 new base,head,room,i,subscript,check,start
 do open^RanDialect
 read line
 set timed=0
 do plan(line),stamp
 set update="for i=1:1:length set "_$$drawn_" write subscript,"" "","_$$value_",!"
 xecute update
 write ".",!
 halt
 ;
fill ; initial values of a global. The line is: global subscripts bytes. Tells the last subscript that is set.
 new $etrap set $etrap="do fault^RanDialect"
 new line,worker,global,subscripts,bytes,sequence,padding,base,head,room,text,first,last,subscript,check,start
 do open^RanDialect
 read line
 set global=+$piece(line," ",1),subscripts=+$piece(line," ",2),bytes=+$piece(line," ",3),worker=0,sequence=0
 do pad,stamp,unjournaled^RanDialect
 set text="for subscript=first:1:last set "_$$checked_",^RanWriteGlobal"_global_"(subscript)="_$$value
 for first=1:20000:subscripts do
 . set last=first+19999 set:last>subscripts last=subscripts
 . xecute text
 . write last,!
 write ".",!
 halt
