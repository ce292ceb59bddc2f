RanKeeper ; keeps the database open during a run, and answers what is asked about it
 ;
 ; A line on standard input is a question; the answer ends with a line that begins with a dot. An error
 ; is answered with "! STATUS". The end of the input ends the process.
 ;
 new $etrap set $etrap="do fault^RanDialect"
 new line,figures
 do open^RanDialect
 ; Attaches to the database.
 set figures=$view("GVSTATS","DEFAULT")
 write ". ",$job,!
 for  read line do @line
 quit
 ;
counts ; the database's own counts
 write $view("GVSTATS","DEFAULT"),!,".",!
 quit
 ;
drain ; everything that was committed goes to the data file
 for  view "EPOCH":"DEFAULT" quit:'$$dirty  hang 0.005
 write ".",!
 quit
 ;
dirty() ; blocks of the cache that the data file does not have yet
 quit $$^%PEEKBYNAME("node_local.wcs_active_lvl","DEFAULT")
 ;
file ; where blocks are: place of the first in units of 512 bytes, bytes of one, their number, free ones
 new name
 for name="start_vbn","blk_size","trans_hist.total_blks","trans_hist.free_blocks" do
 . write $$number("sgmnt_data."_name)," "
 write !,".",!
 quit
 ;
number(field) ; a field of the file's head; those of 64 bits come in hexadecimal
 new value set value=$$^%PEEKBYNAME(field,"DEFAULT")
 quit $select($extract(value,1,2)="0x":$$FUNC^%HD($extract(value,3,99)),1:value)
